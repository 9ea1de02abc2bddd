/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 48 of the format: each thread has tables of its own, of columns, with
 * what it uses of the profile's frames and strings, numbered anew.
 */
#include "codec/firefox_write.h"

#include <errno.h>
#include <stdbool.h>
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
#include "codec/flat.h"
#include "profile/profile.h"
#include "profile/unit.h"

enum { META_VERSION = 29, PROCESSED_VERSION = 48, NO_PREFIX = -1 };

/* A stack of the thread in work: a frame, and the stack that it was called from. */
struct stack {
	int64_t prefix;
	uint32_t frame;
};

/* Which of the profile's things a thread uses, and their numbers there. */
struct used {
	uint32_t *number; /* by id, plus 1; 0: not used */
	VEC(uint32_t);    /* ids, by number */
};

struct row {
	double ms, weight;
	uint32_t stack;
};

struct writer {
	const struct profile *p;
	struct flat flat;
	struct json j;
	size_t value_num;
	double ns; /* of a unit of the values; 0: they are no time */
	int64_t start_ns;
	/* the thread in work */
	struct {
		VEC(struct stack);
	} stacks;
	struct index by_stack;
	struct used functions, strings;
	struct {
		VEC(struct row);
	} rows;
	struct flat_stack frames;
	/* samples, those of a thread together */
	struct {
		VEC(uint32_t);
	} order;
};

static int use(struct used *u, uint32_t id, uint32_t *out)
{
	int r = 0;

	if (!u->number[id]) {
		r = vec_push(u, id);
		u->number[id] = (uint32_t)u->len;
	}
	*out = u->number[id] - 1;
	return r;
}

static void forget(struct used *u)
{
	while (u->len)
		u->number[u->data[--u->len]] = 0;
}

static void thread_fini(struct writer *w)
{
	forget(&w->functions);
	forget(&w->strings);
	vec_fini(&w->stacks);
	index_fini(&w->by_stack);
	vec_fini(&w->rows);
}

static void writer_fini(struct writer *w)
{
	thread_fini(w);
	vec_fini(&w->frames);
	vec_fini(&w->order);
	flat_fini(&w->flat);
	vec_fini(&w->functions);
	vec_fini(&w->strings);
	free(w->functions.number);
	free(w->strings.number);
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

static int use_frame(struct writer *w, uint32_t frame, uint32_t *out)
{
	const struct flat_frame *f = &w->flat.frames.data[frame];
	uint32_t string;
	int r = use(&w->functions, frame, out);

	if (r == 0)
		r = use(&w->strings, f->name, &string);
	return r < 0 ? r : use(&w->strings, f->file, &string);
}

/* The stack @frame called from @*io, instead of that. */
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

static int add_samples(struct writer *w, const uint32_t *samples, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(w->p, samples[i]);
		int64_t at = NO_PREFIX;

		if (s.values[w->value_num] <= 0)
			continue;
		r = flat_stack(&w->flat, s.stack, &w->frames);
		for (size_t k = 0; r == 0 && k < w->frames.len; k++) {
			uint32_t number;

			r = use_frame(w, w->frames.data[k], &number);
			if (r == 0)
				r = push_frame(w, number, &at);
		}
		if (r == 0 && at != NO_PREFIX)
			r = add_times(w, &s, (struct row){ .stack = (uint32_t)at });
	}
	if (w->rows.len)
		qsort(w->rows.data, w->rows.len, sizeof(*w->rows.data), by_time);
	return r;
}

/* ---- columns ------------------------------------------------------------------ */

static void put_number(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

/* One value of a column; NONE: null. */
static const int64_t NONE = INT64_MIN;
typedef int64_t (*column_fn)(const struct writer *w, size_t i);

static void put_column(struct writer *w, const char *key, size_t n, column_fn at)
{
	json_key(&w->j, key);
	json_array(&w->j);
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

/* A column of @n times false. */
static void put_false(struct writer *w, const char *key, size_t n)
{
	json_key(&w->j, key);
	json_array(&w->j);
	for (size_t i = 0; i < n; i++)
		json_bool(&w->j, false);
	json_array_end(&w->j);
}

static void put_empty_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array(j);
	json_array_end(j);
}

/* A table that is empty, with its columns. */
static void put_empty(struct json *j, const char *key, const char *const *columns)
{
	json_key(j, key);
	json_object(j);
	for (; *columns; columns++)
		put_empty_array(j, *columns);
	put_number(j, "length", 0);
	json_object_end(j);
}

static void put_strings(struct writer *w)
{
	const struct strtab *s = w->flat.strings;

	json_key(&w->j, "stringArray");
	json_array(&w->j);
	for (size_t i = 0; i < w->strings.len; i++) {
		uint32_t id = w->strings.data[i];

		json_strn(&w->j, strtab_get(s, id), strtab_len(s, id));
	}
	json_array_end(&w->j);
}

/* Function (and frame) @i of the thread. */
static const struct flat_frame *function(const struct writer *w, size_t i)
{
	return &w->flat.frames.data[w->functions.data[i]];
}

static int64_t string_number(const struct writer *w, uint32_t id)
{
	return (int64_t)w->strings.number[id] - 1;
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
	size_t n = w->functions.len;

	json_key(&w->j, "funcTable");
	json_object(&w->j);
	put_column(w, "name", n, at_name);
	put_column(w, "fileName", n, at_file);
	put_false(w, "isJS", n);
	put_false(w, "relevantForJS", n);
	put_column(w, "resource", n, at_nowhere);
	put_column(w, "lineNumber", n, at_null);
	put_column(w, "columnNumber", n, at_null);
	put_number(&w->j, "length", (int64_t)n);
	json_object_end(&w->j);
}

static void put_frames(struct writer *w)
{
	size_t n = w->functions.len;

	json_key(&w->j, "frameTable");
	json_object(&w->j);
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
	put_number(&w->j, "length", (int64_t)n);
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

	json_key(&w->j, "stackTable");
	json_object(&w->j);
	put_column(w, "prefix", n, at_prefix);
	put_column(w, "frame", n, at_frame);
	put_column(w, "category", n, at_stack_kind);
	put_column(w, "subcategory", n, at_zero);
	put_number(&w->j, "length", (int64_t)n);
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

	json_key(j, "samples");
	json_object(j);
	json_key(j, "weightType");
	json_str(j, w->ns > 0 ? "tracing-ms" : "samples");
	put_column(w, "stack", n, at_stack);
	json_key(j, "time");
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_double(j, w->rows.data[i].ms);
	json_array_end(j);
	json_key(j, "weight");
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_double(j, w->rows.data[i].weight);
	json_array_end(j);
	put_number(j, "length", (int64_t)n);
	json_object_end(j);
}

/* ---- threads ------------------------------------------------------------------ */

static void put_thread_head(struct writer *w, const struct flat_thread *t)
{
	struct json *j = &w->j;
	char pid[24];

	snprintf(pid, sizeof(pid), "%lld", (long long)t->pid);
	json_key(j, "processType");
	json_str(j, "default");
	json_key(j, "processName");
	json_str(j, *t->process ? t->process : pid);
	json_key(j, "name");
	json_str(j, *t->name ? t->name : *t->process ? t->process : "samples");
	json_key(j, "isMainThread");
	json_bool(j, t->pid == t->tid);
	json_key(j, "pid");
	json_str(j, pid);
	put_number(j, "tid", t->tid);
	put_number(j, "processStartupTime", 0);
	json_key(j, "processShutdownTime");
	json_null(j);
	put_number(j, "registerTime", 0);
	json_key(j, "unregisterTime");
	json_null(j);
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
	put_thread_head(w, &w->flat.threads.data[w->flat.thread_of[samples[0]]]);
	put_samples(w);
	put_stacks(w);
	put_frames(w);
	put_functions(w);
	put_empty_tables(w);
	put_strings(w);
	json_object_end(&w->j);
	thread_fini(w);
	return buf_error(w->j.out);
}

static int by_thread(const void *a, const void *b, void *ctx)
{
	const uint32_t *x = a, *y = b, *thread_of = ctx;

	if (thread_of[*x] != thread_of[*y])
		return thread_of[*x] < thread_of[*y] ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int put_threads(struct writer *w)
{
	uint32_t n = profile_n_samples(w->p);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = vec_push(&w->order, i);
	if (r == 0 && n)
		qsort_r(w->order.data, n, sizeof(*w->order.data), by_thread, w->flat.thread_of);
	json_key(&w->j, "threads");
	json_array(&w->j);
	for (uint32_t i = 0, same; r == 0 && i < n; i += same) {
		const uint32_t *order = w->order.data, *thread_of = w->flat.thread_of;

		for (same = 1; i + same < n && thread_of[order[i + same]] == thread_of[order[i]];)
			same++;
		r = put_thread(w, order + i, same);
	}
	json_array_end(&w->j);
	return r;
}

/* Kinds of frames are categories; its palette has names of its own. */
static void put_categories(struct json *j)
{
	static const char *const colours[PROFILE_FRAME_MAX] = {
		[PROFILE_FRAME_UNKNOWN] = "grey",  [PROFILE_FRAME_NATIVE] = "blue",
		[PROFILE_FRAME_KERNEL] = "orange", [PROFILE_FRAME_PYTHON] = "yellow",
		[PROFILE_FRAME_GO] = "lightblue",  [PROFILE_FRAME_RUST] = "brown",
		[PROFILE_FRAME_JVM] = "magenta",   [PROFILE_FRAME_V8] = "green",
		[PROFILE_FRAME_RUBY] = "red",      [PROFILE_FRAME_PHP] = "purple",
	};

	json_key(j, "categories");
	json_array(j);
	for (int i = 0; i < PROFILE_FRAME_MAX; i++) {
		json_object(j);
		json_key(j, "name");
		json_str(j, i ? profile_frame_kind_label((enum profile_frame_kind)i) : "Other");
		json_key(j, "color");
		json_str(j, colours[i] ? colours[i] : "lightgreen");
		json_key(j, "subcategories");
		json_array(j);
		json_str(j, "Other");
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_meta(struct writer *w, const char *title)
{
	const struct profile_meta *m = profile_meta_const(w->p);
	bool in_ns = !strcmp(profile_string(w->p, m->period_type.unit), "nanoseconds");
	struct json *j = &w->j;

	json_key(j, "meta");
	json_object(j);
	put_number(j, "version", META_VERSION);
	put_number(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_key(j, "product");
	json_str(j, title ? title : "cameo");
	json_key(j, "importedFrom");
	json_str(j, "cameo");
	put_number(j, "processType", 0);
	put_number(j, "stackwalk", 1);
	json_key(j, "interval");
	json_double(j, in_ns && m->period > 0 ? (double)m->period / 1e6 : 1);
	json_key(j, "startTime");
	json_double(j, (double)w->start_ns / 1e6);
	json_key(j, "symbolicated");
	json_bool(j, true);
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

int firefox_write(const struct profile *p, size_t value_num, const char *title, struct buf *out,
		  struct err *err)
{
	_cleanup_(writer_fini) struct writer w = {
		.p = p,
		.j = json_to(out),
		.value_num = value_num,
		.start_ns = profile_meta_const(p)->time_ns,
	};
	int r;

	if (value_num >= profile_n_sample_types(p))
		return err_set(err, -EINVAL, "the profile has no sample type %zu", value_num + 1);
	w.ns = profile_unit_ns(profile_string(p, profile_sample_type(p, value_num).unit));
	r = flat_init(&w.flat, p);
	if (r == 0) {
		w.functions.number = calloc(w.flat.frames.len + 1, sizeof(uint32_t));
		w.strings.number = calloc(strtab_count(w.flat.strings), sizeof(uint32_t));
		r = w.functions.number && w.strings.number ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = put_file(&w, title);
	return r < 0 ? err_set(err, r, "no memory to write the profile") : 0;
}
