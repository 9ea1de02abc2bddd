/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the file: the first reads what threads share and finds the types of weights,
 * the second reads the threads. A thread's locations, stacks and samples are built at its end, when
 * all its tables (firefox_tables.h) are known. Prefixes of stacks may form a circle, which the
 * depth limit ends. The format is described in
 * https://github.com/firefox-devtools/profiler/blob/main/src/types/profile.js.
 */
#include "codec/firefox/firefox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/frame_kind.h"
#include "codec/common/json_profile.h"
#include "codec/firefox/firefox_tables.h"

enum { NS_PER_MS = 1000000 };

/* Weight types, each of which becomes a sample type. */
enum weight { WEIGHT_SAMPLES, WEIGHT_TIME, WEIGHT_BYTES, N_WEIGHTS };

static const struct {
	const char *weight_type, *type, *unit;
	double factor;
} weights[N_WEIGHTS] = {
	{ "samples", "samples", "count", 1 },
	{ "tracing-ms", "wall", "nanoseconds", NS_PER_MS },
	{ "bytes", "space", "bytes", 1 },
};

struct reader {
	struct json_profile jp;
	bool has_threads;
	double start_ms; /* since 1970; 0: unknown */
	struct firefox_tables tables;
	struct profile_mapping lib; /* being read */
	struct json_ids libs;       /* mapping ids, by index in the file */
	struct {
		VEC(uint8_t);
	} categories; /* frame kinds, by index in the file */
	bool has_weight[N_WEIGHTS];
	size_t type_of[N_WEIGHTS]; /* index of the sample type */
	enum weight weight;        /* of the current thread */
	struct json_thread thread;
	struct json_ids stack; /* being built */
	/* Ids in the profile by row of the thread's tables; PROFILE_NONE: not built yet. */
	struct json_ids location_ids, stack_ids;
	size_t n_threads;
	char text[FIREFOX_MAX_TEXT];
};

static void reader_fini(struct reader *rd)
{
	json_profile_fini(&rd->jp);
	firefox_tables_fini(&rd->tables);
	vec_fini(&rd->libs);
	vec_fini(&rd->categories);
	vec_fini(&rd->stack);
	vec_fini(&rd->location_ids);
	vec_fini(&rd->stack_ids);
}

/* An unknown weight type counts as the default, samples. */
static enum weight weight_of(const char *weight_type)
{
	for (size_t i = 0; i < N_WEIGHTS; i++)
		if (!strcmp(weight_type, weights[i].weight_type))
			return (enum weight)i;
	return WEIGHT_SAMPLES;
}

/* ---- a thread's profile ------------------------------------------------------- */

static int reset_ids(struct reader *rd, struct json_ids *ids, size_t n_rows)
{
	int r = 0;

	ids->len = 0;
	for (size_t i = 0; r == 0 && i < n_rows; i++)
		r = vec_push(ids, PROFILE_NONE);
	return json_profile_check(&rd->jp, r);
}

/*
 * Builds the location of a frame row. Old versions have the file's name in the function, newer ones
 * in a table of sources.
 */
static int add_frame(struct reader *rd, int64_t frame, uint32_t *out)
{
	int64_t func = firefox_cell(&rd->tables, FRAME_FUNC, frame),
		address = firefox_cell(&rd->tables, FRAME_ADDRESS, frame);
	int64_t category = firefox_cell(&rd->tables, FRAME_CATEGORY, frame);
	int64_t lib = firefox_cell(&rd->tables, RESOURCE_LIB,
				   firefox_cell(&rd->tables, FUNC_RESOURCE, func));
	struct json_frame f = {
		.name = firefox_string_cell(&rd->tables, FUNC_NAME, func),
		.file = firefox_string_cell(&rd->tables, FUNC_FILE, func),
		.start_line = firefox_cell(&rd->tables, FUNC_LINE, func),
		.line = firefox_cell(&rd->tables, FRAME_LINE, frame),
		.column = firefox_cell(&rd->tables, FRAME_COLUMN, frame),
		.mapping = PROFILE_NONE,
		.address = address > 0 ? (uint64_t)address : 0,
	};

	if (!f.file)
		f.file = firefox_string_cell(&rd->tables, SOURCE_FILE,
					     firefox_cell(&rd->tables, FUNC_SOURCE, func));
	if (lib >= 0 && (uint64_t)lib < rd->libs.len)
		f.mapping = rd->libs.data[lib];
	if (category >= 0 && (uint64_t)category < rd->categories.len)
		f.kind = rd->categories.data[category];
	return json_profile_add_frame(&rd->jp, &f, out);
}

/*
 * Builds each frame row at most once per thread; rows outside of the table become one nameless
 * frame.
 */
static int push_frame(struct reader *rd, int64_t frame)
{
	bool is_row = frame >= 0 && (uint64_t)frame < rd->location_ids.len;
	uint32_t id = is_row ? rd->location_ids.data[frame] : PROFILE_NONE;
	int r = id == PROFILE_NONE ? add_frame(rd, frame, &id) : 0;

	if (r < 0)
		return r;
	if (is_row)
		rd->location_ids.data[frame] = id;
	return json_profile_check(&rd->jp, vec_push(&rd->stack, id));
}

/* Builds the stack of row @row of the stack table, whose rows lead from the leaf to the root. */
static int add_stack(struct reader *rd, int64_t row, uint32_t *out)
{
	int r = 0;

	rd->stack.len = 0;
	for (; r == 0 && row >= 0; row = firefox_cell(&rd->tables, STACK_PREFIX, row)) {
		if (rd->stack.len == rd->jp.limits.depth)
			return err_set(rd->jp.err, -EFBIG,
				       "thread %zu: stack with more than %u frames", rd->n_threads,
				       rd->jp.limits.depth);
		r = push_frame(rd, firefox_cell(&rd->tables, STACK_FRAME, row));
	}
	if (r < 0)
		return r;
	vec_reverse(&rd->stack);
	return json_profile_add_stack(&rd->jp, &rd->stack, out);
}

/* Builds the stack of a row when a sample first refers to it. */
static int stack_of(struct reader *rd, int64_t row, uint32_t *out)
{
	bool is_row = (uint64_t)row < rd->stack_ids.len;
	int r = 0;

	*out = is_row ? rd->stack_ids.data[row] : PROFILE_NONE;
	if (*out == PROFILE_NONE)
		r = add_stack(rd, row, out);
	if (r == 0 && is_row)
		rd->stack_ids.data[row] = *out;
	return r;
}

/*
 * The time of sample @i in ns since 1970; 0 if unknown. *@since_start is the sum of the deltas so
 * far in ms. 9e12 ms is the year 2255, before which nanoseconds fit in 63 bits.
 */
static uint64_t time_of(const struct reader *rd, size_t i, double *since_start)
{
	const struct firefox_column *times = &rd->tables.own.columns[SAMPLE_TIME];
	const struct firefox_column *deltas = &rd->tables.own.columns[SAMPLE_DELTA];
	double ms;

	if (i < deltas->len)
		*since_start += deltas->data[i];
	else if (i >= times->len)
		return 0;
	ms = rd->start_ms + (i < times->len ? times->data[i] : *since_start);
	return rd->start_ms > 0 && ms > 0 && ms < 9e12 ? (uint64_t)(ms * NS_PER_MS) : 0;
}

/*
 * A sample without a weight counts 1. Values of other weight types are 0, since a thread has one
 * type.
 */
static int add_sample(struct reader *rd, size_t i, uint64_t time)
{
	const struct firefox_column *weight = &rd->tables.own.columns[SAMPLE_WEIGHT];
	int64_t values[N_WEIGHTS] = { 0 };
	struct profile_sample s = {
		.labels = rd->thread.labels,
		.n_labels = rd->thread.n_labels,
		.values = values,
	};
	double v = i < weight->len ? weight->data[i] : 1;
	int r;

	if (time) {
		s.times = &time;
		s.n_times = 1;
	}
	r = json_profile_round(&rd->jp, v * weights[rd->weight].factor,
			       &values[rd->type_of[rd->weight]]);
	if (r == 0)
		r = stack_of(rd, firefox_cell(&rd->tables, SAMPLE_STACK, (int64_t)i), &s.stack);
	return r < 0 ? r : json_profile_add_sample(&rd->jp, &s);
}

/* Samples without a stack are skipped: the thread did not exist or was not sampled then. */
static int add_samples(struct reader *rd)
{
	double since_start = 0;
	int r = json_profile_label_thread(&rd->jp, &rd->thread);

	if (r == 0)
		r = reset_ids(rd, &rd->location_ids, firefox_column(&rd->tables, FRAME_FUNC)->len);
	if (r == 0)
		r = reset_ids(rd, &rd->stack_ids, firefox_column(&rd->tables, STACK_FRAME)->len);
	for (size_t i = 0; r == 0 && i < rd->tables.own.columns[SAMPLE_STACK].len; i++) {
		uint64_t time = time_of(rd, i, &since_start);

		if (firefox_cell(&rd->tables, SAMPLE_STACK, (int64_t)i) >= 0)
			r = add_sample(rd, i, time);
	}
	return r;
}

/* ---- the file ----------------------------------------------------------------- */

static int read_number(struct reader *rd, int64_t *out)
{
	int c = json_read_peek(&rd->jp.j), r;

	if (c == 0)
		return json_profile_int(&rd->jp, out);
	if (c != '"')
		return json_profile_skip(&rd->jp);
	r = json_profile_text(&rd->jp, rd->text, sizeof(rd->text));
	*out = strtoll(rd->text, NULL, 10); /* "4711.2" is the second process with pid 4711 */
	return r;
}

static int read_thread_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	bool is_text = json_read_peek(&rd->jp.j) == '"';

	if (!strcmp(key, "pid"))
		return read_number(rd, &rd->thread.pid);
	if (!strcmp(key, "tid"))
		return read_number(rd, &rd->thread.tid);
	if (!strcmp(key, "name") && is_text)
		return json_profile_string(&rd->jp, &rd->thread.name);
	if (!strcmp(key, "processName") && is_text)
		return json_profile_string(&rd->jp, &rd->thread.process);
	return firefox_read_table(&rd->tables, key);
}

/*
 * All tables of a thread precede or follow its samples in any order, so samples are added at its
 * end.
 */
static int read_thread(void *ctx)
{
	struct reader *rd = ctx;
	int r;

	firefox_tables_begin_thread(&rd->tables);
	rd->thread = (struct json_thread){ 0 };
	r = json_profile_members(&rd->jp, read_thread_member, rd);
	rd->weight = weight_of(rd->tables.weight_type);
	if (r == 0)
		r = add_samples(rd);
	rd->n_threads++;
	return r;
}

static int find_weight_type(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (strcmp(key, "weightType") != 0 || json_read_peek(&rd->jp.j) != '"')
		return json_profile_skip(&rd->jp);
	return json_profile_text(&rd->jp, rd->text, sizeof(rd->text));
}

static int find_samples(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (strcmp(key, "samples") != 0 || json_read_peek(&rd->jp.j) != '{')
		return json_profile_skip(&rd->jp);
	return json_profile_members(&rd->jp, find_weight_type, rd);
}

/*
 * The first pass looks only for the weight type of each thread: sample types must exist before the
 * first sample is added.
 */
static int find_weight(void *ctx)
{
	struct reader *rd = ctx;
	int r;

	rd->text[0] = '\0';
	r = json_profile_members(&rd->jp, find_samples, rd);
	rd->has_weight[weight_of(rd->text)] = true;
	return r;
}

/* The path is more precise than the name; codeId is the build id on Linux. */
static int read_lib_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	bool is_text = json_read_peek(&rd->jp.j) == '"';

	if (is_text && (!strcmp(key, "path") || (!strcmp(key, "name") && !rd->lib.file)))
		return json_profile_string(&rd->jp, &rd->lib.file);
	if (is_text && !strcmp(key, "codeId"))
		return json_profile_string(&rd->jp, &rd->lib.build_id);
	return json_profile_skip(&rd->jp);
}

static int read_lib(void *ctx)
{
	struct reader *rd = ctx;
	uint32_t id;
	int r;

	rd->lib = (struct profile_mapping){ .has_functions = true };
	r = json_profile_members(&rd->jp, read_lib_member, rd);
	if (r < 0)
		return r;
	r = json_profile_check_limit(&rd->jp, rd->libs.len, rd->jp.limits.entries, "libraries");
	if (r < 0)
		return r;
	if (profile_add_mapping(rd->jp.p, &rd->lib, &id) < 0 || vec_push(&rd->libs, id) < 0)
		return json_profile_no_memory(&rd->jp);
	return 0;
}

static int read_category_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	uint8_t *kind = &rd->categories.data[rd->categories.len - 1];
	int r;

	if (strcmp(key, "name") != 0)
		return json_profile_skip(&rd->jp);
	r = json_profile_text(&rd->jp, rd->text, sizeof(rd->text));
	*kind = r < 0 ? 0 : frame_kind_from_label(rd->text);
	return r;
}

static int read_category(void *ctx)
{
	struct reader *rd = ctx;
	int r = json_profile_check_limit(&rd->jp, rd->categories.len, rd->jp.limits.entries,
					 "categories");
	if (r == 0)
		r = json_profile_check(&rd->jp, vec_push(&rd->categories, PROFILE_FRAME_UNKNOWN));
	if (r < 0)
		return r;
	return json_profile_members(&rd->jp, read_category_member, rd);
}

static int read_meta(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "startTime") && json_read_peek(&rd->jp.j) == 0)
		return json_profile_number(&rd->jp, &rd->start_ms);
	if (!strcmp(key, "categories") && json_read_peek(&rd->jp.j) == '[')
		return json_profile_items(&rd->jp, read_category, rd);
	return json_profile_skip(&rd->jp);
}

static int find_shared(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "meta"))
		return json_profile_members(&rd->jp, read_meta, rd);
	if (!strcmp(key, "libs"))
		return json_profile_items(&rd->jp, read_lib, rd);
	if (!strcmp(key, "shared"))
		return json_profile_members(&rd->jp, firefox_read_table, &rd->tables);
	if (strcmp(key, "threads") != 0)
		return json_profile_skip(&rd->jp);
	rd->has_threads = true;
	return json_profile_items(&rd->jp, find_weight, rd);
}

static int find_threads(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	return strcmp(key, "threads") ? json_profile_skip(&rd->jp)
				      : json_profile_items(&rd->jp, read_thread, rd);
}

static int add_types(struct reader *rd)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_WEIGHTS; i++) {
		if (!rd->has_weight[i])
			continue;
		rd->type_of[i] = profile_n_sample_types(rd->jp.p);
		r = profile_add_sample_type(rd->jp.p, weights[i].type, weights[i].unit);
	}
	return json_profile_check(&rd->jp, r);
}

int firefox_read(struct profile **out, const void *data, size_t len,
		 const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	int r = json_profile_init(&rd.jp, len, limits, "Firefox profile", err);

	rd.tables.jp = &rd.jp;
	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, find_shared, &rd);
	if (r == 0 && !rd.has_threads)
		r = err_set(err, -EBADMSG, "not a Firefox profile: no \"threads\" array");
	if (r == 0)
		r = add_types(&rd);
	rd.tables.in_thread = true;
	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, find_threads, &rd);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.jp.p);
	return 0;
}
