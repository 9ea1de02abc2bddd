/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 48 of the processed format. Each thread has its own tables, which are objects of columns;
 * its frames and strings are renumbered so that it contains only those that it uses. Every frame
 * has a function of its own, so frame and function numbers are the same.
 *
 * Version 48 need not be the current one, because the profiler upgrades older files when it opens
 * them. A column that the version requires must be present even if all its values are null or 0.
 * The stack table is a tree like the profile's own, but with its own numbers: a row is a frame and
 * the row of its caller. Rows are found by a hash index, so that equal prefixes share rows.
 */
#include "codec/firefox/firefox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/common/compact_ids.h"
#include "codec/common/format_codec.h"
#include "codec/common/tracks.h"
#include "profile/profile.h"
#include "profile/unit.h"

enum { META_VERSION = 29, PROCESSED_VERSION = 48, NO_PREFIX = -1 };

/* A row of the stack table: a frame and the row of its caller's stack, or NO_PREFIX. */
struct stack {
	int64_t prefix;
	uint32_t frame;
};

/* A row of the sample table. */
struct row {
	double ms, weight;
	uint32_t stack;
};

struct writer {
	const struct profile *p;
	struct tracks tracks;
	struct json j;
	size_t value_num;
	double ns; /* per unit of the values; 0: they are not times */
	int64_t start_ns;
	/* State of the current thread. */
	struct {
		VEC(struct stack);
	} stacks;
	struct index by_stack;
	struct compact_ids functions, strings; /* by frame and string of @tracks */
	struct {
		VEC(struct row);
	} rows;
	struct tracks_stack frames;
	/* Sample numbers, sorted by thread. */
	struct {
		VEC(uint32_t);
	} order;
};

/*
 * Everything in a thread's tables is numbered from 0 again. The arrays behind compact_ids stay
 * allocated.
 */
static void reset_thread(struct writer *w)
{
	compact_ids_reset(&w->functions);
	compact_ids_reset(&w->strings);
	vec_fini(&w->stacks);
	index_fini(&w->by_stack);
	vec_fini(&w->rows);
}

static void writer_fini(struct writer *w)
{
	reset_thread(w);
	vec_fini(&w->frames);
	vec_fini(&w->order);
	tracks_fini(&w->tracks);
	compact_ids_fini(&w->functions);
	compact_ids_fini(&w->strings);
}

struct stack_key {
	const struct writer *w;
	struct stack stack;
};

static bool stack_eq(const void *ctx, uint32_t id)
{
	const struct stack_key *k = ctx;
	const struct stack *have = &k->w->stacks.data[id];

	return have->prefix == k->stack.prefix && have->frame == k->stack.frame;
}

/* The number of a frame in the thread, from 0. */
static uint32_t frame_number(struct writer *w, uint32_t frame)
{
	const struct tracks_frame *f = &w->tracks.frames.data[frame];

	compact_ids_get(&w->strings, f->name);
	compact_ids_get(&w->strings, f->file);
	return compact_ids_get(&w->functions, frame) - 1;
}

/* Replaces the stack *@io by the one in which it calls @frame. */
static int push_frame(struct writer *w, uint32_t frame, int64_t *io)
{
	const struct stack_key key = { w, { *io, frame } };
	uint32_t hash = hash_u64((uint64_t)*io << 32 ^ frame), id;
	int r;

	if (index_find(&w->by_stack, hash, stack_eq, &key, &id)) {
		*io = id;
		return 0;
	}
	*io = (int64_t)w->stacks.len;
	r = vec_push(&w->stacks, key.stack);
	return r < 0 ? r : index_add(&w->by_stack, hash, (uint32_t)*io);
}

/*
 * Adds the rows of a sample. Without timestamps, a row follows the one before by its own length,
 * which keeps proportions visible; values that are not times advance by a microsecond each.
 */
static int add_times(struct writer *w, const struct profile_sample *s, struct row row)
{
	double value = (double)s->values[w->value_num];
	int r = 0;

	if (w->ns > 0)
		value = value * w->ns / 1e6;
	row.weight = value;
	row.ms = w->rows.len ? w->rows.data[w->rows.len - 1].ms : 0;
	row.ms += w->ns > 0 ? value : value / 1e3;
	if (!s->n_times)
		return vec_push(&w->rows, row);
	row.weight = value / s->n_times;
	for (uint32_t i = 0; r == 0 && i < s->n_times; i++) {
		row.ms = ((double)s->times[i] - (double)w->start_ns) / 1e6;
		r = vec_push(&w->rows, row);
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* Fills the tables of one thread, rows in order of time, as the format requires. */
static int add_samples(struct writer *w, const uint32_t *samples, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(w->p, samples[i]);
		int64_t at = NO_PREFIX;

		if (s.values[w->value_num] <= 0)
			continue;
		r = tracks_stack(&w->tracks, s.stack, &w->frames);
		for (size_t k = 0; r == 0 && k < w->frames.len; k++)
			r = push_frame(w, frame_number(w, w->frames.data[k]), &at);
		if (r == 0 && at != NO_PREFIX)
			r = add_times(w, &s, (struct row){ .stack = (uint32_t)at });
	}
	if (r == 0)
		r = w->functions.error ? w->functions.error : w->strings.error;
	if (w->rows.len)
		qsort(w->rows.data, w->rows.len, sizeof(*w->rows.data), by_time);
	return r;
}

/* ---- columns ------------------------------------------------------------------ */

/* Stands for null in a column. */
static const int64_t NONE = INT64_MIN;

/* The value in row @i of a column. */
typedef int64_t (*column_fn)(const struct writer *w, size_t i);

/* Tables are written column by column, each from a function of the row number. */
static void put_column(struct writer *w, const char *key, size_t n, column_fn at)
{
	json_member_array(&w->j, key);
	for (size_t i = 0; i < n; i++) {
		int64_t v = at(w, i);

		if (v == NONE)
			json_null(&w->j);
		else
			json_int(&w->j, v);
	}
	json_array_end(&w->j);
}

static int64_t at_zero(const struct writer *w, size_t i)
{
	return 0;
}

static int64_t at_nowhere(const struct writer *w, size_t i)
{
	return -1;
}

static int64_t at_null(const struct writer *w, size_t i)
{
	return NONE;
}

/* Writes a column of @n times false. */
static void put_false(struct writer *w, const char *key, size_t n)
{
	json_member_array(&w->j, key);
	for (size_t i = 0; i < n; i++)
		json_bool(&w->j, false);
	json_array_end(&w->j);
}

static void put_empty_array(struct json *j, const char *key)
{
	json_member_array(j, key);
	json_array_end(j);
}

/* Writes an empty table, which must have its columns nonetheless. */
static void put_empty(struct json *j, const char *key, const char *const *columns)
{
	json_member_object(j, key);
	for (; *columns; columns++)
		put_empty_array(j, *columns);
	json_member_int(j, "length", 0);
	json_object_end(j);
}

static void put_strings(struct writer *w)
{
	const struct strtab *s = w->tracks.strings;

	json_member_array(&w->j, "stringArray");
	for (size_t i = 0; i < w->strings.ids.len; i++) {
		uint32_t id = w->strings.ids.data[i];

		json_strn(&w->j, strtab_get(s, id), strtab_len(s, id));
	}
	json_array_end(&w->j);
}

/* Function and frame @i of the thread. */
static const struct tracks_frame *function(const struct writer *w, size_t i)
{
	return &w->tracks.frames.data[w->functions.ids.data[i]];
}

static int64_t string_number(const struct writer *w, uint32_t id)
{
	return (int64_t)w->strings.numbers[id] - 1;
}

static int64_t at_name(const struct writer *w, size_t i)
{
	return string_number(w, function(w, i)->name);
}

static int64_t at_file(const struct writer *w, size_t i)
{
	return function(w, i)->file ? string_number(w, function(w, i)->file) : NONE;
}

static int64_t at_line(const struct writer *w, size_t i)
{
	return function(w, i)->line ? (int64_t)function(w, i)->line : NONE;
}

static int64_t at_column(const struct writer *w, size_t i)
{
	return function(w, i)->column ? (int64_t)function(w, i)->column : NONE;
}

static int64_t at_kind(const struct writer *w, size_t i)
{
	return function(w, i)->kind;
}

static int64_t at_itself(const struct writer *w, size_t i)
{
	return (int64_t)i;
}

static void put_functions(struct writer *w)
{
	size_t n = w->functions.ids.len;

	json_member_object(&w->j, "funcTable");
	put_column(w, "name", n, at_name);
	put_column(w, "fileName", n, at_file);
	put_false(w, "isJS", n);
	put_false(w, "relevantForJS", n);
	put_column(w, "resource", n, at_nowhere);
	put_column(w, "lineNumber", n, at_null);
	put_column(w, "columnNumber", n, at_null);
	json_member_int(&w->j, "length", (int64_t)n);
	json_object_end(&w->j);
}

static void put_frames(struct writer *w)
{
	size_t n = w->functions.ids.len;

	json_member_object(&w->j, "frameTable");
	put_column(w, "func", n, at_itself);
	put_column(w, "category", n, at_kind);
	put_column(w, "line", n, at_line);
	put_column(w, "address", n, at_nowhere);
	put_column(w, "inlineDepth", n, at_zero);
	put_column(w, "subcategory", n, at_zero);
	put_column(w, "innerWindowID", n, at_zero);
	put_column(w, "nativeSymbol", n, at_null);
	put_column(w, "implementation", n, at_null);
	put_column(w, "column", n, at_column);
	json_member_int(&w->j, "length", (int64_t)n);
	json_object_end(&w->j);
}

static int64_t at_prefix(const struct writer *w, size_t i)
{
	return w->stacks.data[i].prefix == NO_PREFIX ? NONE : w->stacks.data[i].prefix;
}

static int64_t at_frame(const struct writer *w, size_t i)
{
	return w->stacks.data[i].frame;
}

static int64_t at_stack_kind(const struct writer *w, size_t i)
{
	return function(w, w->stacks.data[i].frame)->kind;
}

static void put_stacks(struct writer *w)
{
	size_t n = w->stacks.len;

	json_member_object(&w->j, "stackTable");
	put_column(w, "prefix", n, at_prefix);
	put_column(w, "frame", n, at_frame);
	put_column(w, "category", n, at_stack_kind);
	put_column(w, "subcategory", n, at_zero);
	json_member_int(&w->j, "length", (int64_t)n);
	json_object_end(&w->j);
}

static int64_t at_stack(const struct writer *w, size_t i)
{
	return w->rows.data[i].stack;
}

static void put_samples(struct writer *w)
{
	struct json *j = &w->j;
	size_t n = w->rows.len;

	json_member_object(j, "samples");
	json_member_str(j, "weightType", w->ns > 0 ? "tracing-ms" : "samples");
	put_column(w, "stack", n, at_stack);
	json_member_array(j, "time");
	for (size_t i = 0; i < n; i++)
		json_double(j, w->rows.data[i].ms);
	json_array_end(j);
	json_member_array(j, "weight");
	for (size_t i = 0; i < n; i++)
		json_double(j, w->rows.data[i].weight);
	json_array_end(j);
	json_member_int(j, "length", (int64_t)n);
	json_object_end(j);
}

/* ---- threads ------------------------------------------------------------------ */

static void put_thread_head(struct writer *w, const struct tracks_thread *t)
{
	struct json *j = &w->j;
	char pid[24];

	snprintf(pid, sizeof(pid), "%lld", (long long)t->pid);
	json_member_str(j, "processType", "default");
	json_member_str(j, "processName", *t->process ? t->process : pid);
	json_member_str(j, "name", *t->name ? t->name : *t->process ? t->process : "samples");
	json_member_bool(j, "isMainThread", t->pid == t->tid);
	json_member_str(j, "pid", pid);
	json_member_int(j, "tid", t->tid);
	json_member_int(j, "processStartupTime", 0);
	json_member_null(j, "processShutdownTime");
	json_member_int(j, "registerTime", 0);
	json_member_null(j, "unregisterTime");
	put_empty_array(j, "pausedRanges");
}

static void put_empty_tables(struct writer *w)
{
	static const char *const markers[] = { "data",  "name",     "startTime", "endTime",
					       "phase", "category", NULL };
	static const char *const resources[] = { "lib", "name", "host", "type", NULL };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize",
					       NULL };

	put_empty(&w->j, "markers", markers);
	put_empty(&w->j, "resourceTable", resources);
	put_empty(&w->j, "nativeSymbols", symbols);
}

static int put_thread(struct writer *w, const uint32_t *samples, size_t n)
{
	int r = add_samples(w, samples, n);

	if (r < 0)
		return r;
	json_object(&w->j);
	put_thread_head(w, &w->tracks.threads.data[w->tracks.thread_of[samples[0]]]);
	put_samples(w);
	put_stacks(w);
	put_frames(w);
	put_functions(w);
	put_empty_tables(w);
	put_strings(w);
	json_object_end(&w->j);
	reset_thread(w);
	return buf_error(w->j.out);
}

static int by_thread(const void *a, const void *b, void *ctx)
{
	const uint32_t *x = a, *y = b, *thread_of = ctx;

	if (thread_of[*x] != thread_of[*y])
		return thread_of[*x] < thread_of[*y] ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/*
 * Sorts the numbers of samples by thread, so that each thread's samples are one run; the profile
 * itself is constant.
 */
static int put_threads(struct writer *w)
{
	uint32_t n = profile_n_samples(w->p);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = vec_push(&w->order, i);
	if (r == 0 && n)
		qsort_r(w->order.data, n, sizeof(*w->order.data), by_thread, w->tracks.thread_of);
	json_member_array(&w->j, "threads");
	for (uint32_t i = 0, same; r == 0 && i < n; i += same) {
		const uint32_t *order = w->order.data, *thread_of = w->tracks.thread_of;

		for (same = 1; i + same < n && thread_of[order[i + same]] == thread_of[order[i]];)
			same++;
		r = put_thread(w, order + i, same);
	}
	json_array_end(&w->j);
	return r;
}

/* Frame kinds become categories. Colours are names from the palette of the profiler. */
static void put_categories(struct json *j)
{
	static const char *const colours[PROFILE_FRAME_MAX] = {
		[PROFILE_FRAME_UNKNOWN] = "grey",  [PROFILE_FRAME_NATIVE] = "blue",
		[PROFILE_FRAME_KERNEL] = "orange", [PROFILE_FRAME_PYTHON] = "yellow",
		[PROFILE_FRAME_GO] = "lightblue",  [PROFILE_FRAME_RUST] = "brown",
		[PROFILE_FRAME_JVM] = "magenta",   [PROFILE_FRAME_V8] = "green",
		[PROFILE_FRAME_RUBY] = "red",      [PROFILE_FRAME_PHP] = "purple",
	};

	json_member_array(j, "categories");
	for (int i = 0; i < PROFILE_FRAME_MAX; i++) {
		json_object(j);
		json_member_str(j, "name",
				i ? profile_frame_kind_label((enum profile_frame_kind)i) : "Other");
		json_member_str(j, "color", colours[i] ? colours[i] : "lightgreen");
		json_member_array(j, "subcategories");
		json_str(j, "Other");
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

/*
 * interval is in milliseconds and only a hint for the scale of the time line. startTime is that of
 * the profile, so viewers show wall-clock times.
 */
static void put_meta(struct writer *w, const char *title)
{
	const struct profile_meta *m = profile_meta_const(w->p);
	bool in_ns = !strcmp(profile_string(w->p, m->period_type.unit), "nanoseconds");
	struct json *j = &w->j;

	json_member_object(j, "meta");
	json_member_int(j, "version", META_VERSION);
	json_member_int(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_member_str(j, "product", title ? title : "cameo");
	json_member_str(j, "importedFrom", "cameo");
	json_member_int(j, "processType", 0);
	json_member_int(j, "stackwalk", 1);
	json_member_double(j, "interval", in_ns && m->period > 0 ? (double)m->period / 1e6 : 1);
	json_member_double(j, "startTime", (double)w->start_ns / 1e6);
	json_member_bool(j, "symbolicated", true);
	put_categories(j);
	put_empty_array(j, "markerSchema");
	json_object_end(j);
}

static int put_file(struct writer *w, const char *title)
{
	int r;

	json_object(&w->j);
	put_meta(w, title);
	put_empty_array(&w->j, "libs");
	put_empty_array(&w->j, "pages");
	r = put_threads(w);
	json_object_end(&w->j);
	return r < 0 ? r : buf_error(w->j.out);
}

int firefox_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		  struct err *err)
{
	_cleanup_(writer_fini) struct writer w = {
		.p = p,
		.j = json_to(out),
		.value_num = opt->value_num,
		.start_ns = profile_meta_const(p)->time_ns,
	};
	int r;

	if (w.value_num >= profile_n_sample_types(p))
		return err_set(err, -EINVAL, "the profile has no sample type %zu", w.value_num + 1);
	w.ns = profile_unit_ns(profile_string(p, profile_sample_type(p, w.value_num).unit));
	r = tracks_init(&w.tracks, p);
	if (r == 0)
		r = compact_ids_init(&w.functions, (uint32_t)w.tracks.frames.len);
	if (r == 0)
		r = compact_ids_init(&w.strings, strtab_count(w.tracks.strings));
	if (r == 0)
		r = put_file(&w, opt->title);
	return r < 0 ? err_set(err, r, "out of memory while writing the profile") : 0;
}

const struct format_codec firefox_codec = {
	.json_keys = { "threads" },
	.read = firefox_read,
	.write = firefox_write,
	.features = FORMAT_LABELS | FORMAT_ALL_KINDS | FORMAT_LINES | FORMAT_TIMES | FORMAT_META,
};
