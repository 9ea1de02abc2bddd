/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's stacks are sorted, so that those that share a beginning follow each
 * other; a frame is one event from the first to the last of them. An event
 * is written when it ends.
 */
#include "codec/chrome_write.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/flat.h"
#include "profile/profile.h"
#include "profile/unit.h"

/* A sample: its stack is frames[first, first + n). */
struct row {
	uint32_t thread, n;
	size_t first;
	int64_t value;
};

struct writer {
	struct flat flat;
	struct json j;
	struct {
		VEC(struct row);
	} rows;
	struct {
		VEC(uint32_t);
	} frames;
	double ns; /* of a unit of the values */
	/* the thread in work: its open events, and the time */
	struct {
		VEC(double);
	} starts;
	double now;
};

static void writer_fini(struct writer *w)
{
	flat_fini(&w->flat);
	vec_fini(&w->rows);
	vec_fini(&w->frames);
	vec_fini(&w->starts);
}

static int add_rows(struct writer *w, size_t value_num)
{
	struct flat_stack stack = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_samples(w->flat.p); i++) {
		struct profile_sample s = profile_sample(w->flat.p, i);
		struct row row = { w->flat.thread_of[i], 0, w->frames.len, s.values[value_num] };

		if (row.value <= 0)
			continue;
		r = flat_stack(&w->flat, s.stack, &stack);
		for (size_t k = 0; r == 0 && k < stack.len; k++)
			r = vec_push(&w->frames, stack.data[k]);
		row.n = (uint32_t)stack.len;
		if (r == 0)
			r = vec_push(&w->rows, row);
	}
	vec_fini(&stack);
	return r;
}

static uint32_t common(const uint32_t *frames, const struct row *a, const struct row *b)
{
	uint32_t n = 0;

	while (n < a->n && n < b->n && frames[a->first + n] == frames[b->first + n])
		n++;
	return n;
}

/* By thread, then by frames from the root, a stack before those that go on from it. */
static int compare(const void *x, const void *y, void *ctx)
{
	const uint32_t *frames = ctx;
	const struct row *a = x, *b = y;
	uint32_t n;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	n = common(frames, a, b);
	if (n == a->n || n == b->n)
		return (a->n > n) - (b->n > n);
	return frames[a->first + n] < frames[b->first + n] ? -1 : 1;
}

static void put_ids(struct writer *w, const struct flat_thread *t)
{
	json_key(&w->j, "pid");
	json_int(&w->j, t->pid);
	json_key(&w->j, "tid");
	json_int(&w->j, t->tid);
}

static void put_event(struct writer *w, const struct row *row, uint32_t depth)
{
	const struct flat_frame *f = &w->flat.frames.data[w->frames.data[row->first + depth]];
	const struct strtab *s = w->flat.strings;

	json_object(&w->j);
	json_key(&w->j, "ph");
	json_str(&w->j, "X");
	json_key(&w->j, "name");
	json_strn(&w->j, strtab_get(s, f->name), strtab_len(s, f->name));
	json_key(&w->j, "cat");
	json_str(&w->j, profile_frame_kind_label(f->kind));
	json_key(&w->j, "ts");
	json_double(&w->j, w->starts.data[depth]);
	json_key(&w->j, "dur");
	json_double(&w->j, w->now - w->starts.data[depth]);
	put_ids(w, &w->flat.threads.data[row->thread]);
	if (f->file) {
		json_key(&w->j, "args");
		json_object(&w->j);
		json_key(&w->j, "file");
		json_strn(&w->j, strtab_get(s, f->file), strtab_len(s, f->file));
		json_key(&w->j, "line");
		json_uint(&w->j, f->line);
		json_object_end(&w->j);
	}
	json_object_end(&w->j);
}

/* End the events of @row that are deeper than @depth. */
static void close_events(struct writer *w, const struct row *row, uint32_t depth)
{
	while (w->starts.len > depth) {
		put_event(w, row, (uint32_t)w->starts.len - 1);
		w->starts.len--;
	}
}

static int put_rows(struct writer *w)
{
	const struct row *before = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->rows.len; i++) {
		const struct row *row = &w->rows.data[i];
		bool same_thread = before && before->thread == row->thread;
		uint32_t n = same_thread ? common(w->frames.data, before, row) : 0;

		if (before)
			close_events(w, before, n);
		if (!same_thread)
			w->now = 0;
		while (r == 0 && w->starts.len < row->n)
			r = vec_push(&w->starts, w->now);
		w->now += (double)row->value * w->ns / 1e3;
		before = row;
	}
	if (r == 0 && before)
		close_events(w, before, 0);
	return r;
}

static void put_name(struct writer *w, const struct flat_thread *t, const char *what,
		     const char *name)
{
	if (!*name)
		return;
	json_object(&w->j);
	json_key(&w->j, "ph");
	json_str(&w->j, "M");
	json_key(&w->j, "name");
	json_str(&w->j, what);
	put_ids(w, t);
	json_key(&w->j, "args");
	json_object(&w->j);
	json_key(&w->j, "name");
	json_str(&w->j, name);
	json_object_end(&w->j);
	json_object_end(&w->j);
}

static int put_file(struct writer *w)
{
	int r;

	json_object(&w->j);
	json_key(&w->j, "displayTimeUnit");
	json_str(&w->j, "ms");
	json_key(&w->j, "traceEvents");
	json_array(&w->j);
	for (size_t i = 0; i < w->flat.threads.len; i++) {
		const struct flat_thread *t = &w->flat.threads.data[i];

		put_name(w, t, "process_name", t->process);
		put_name(w, t, "thread_name", t->name);
	}
	r = put_rows(w);
	json_array_end(&w->j);
	json_object_end(&w->j);
	return r < 0 ? r : buf_error(w->j.out);
}

int chrome_write(const struct profile *p, size_t value_num, struct buf *out, struct err *err)
{
	_cleanup_(writer_fini) struct writer w = { .j = json_to(out) };
	int r;

	if (value_num >= profile_n_sample_types(p))
		return err_set(err, -EINVAL, "the profile has no sample type %zu", value_num + 1);
	w.ns = profile_unit_ns(profile_string(p, profile_sample_type(p, value_num).unit));
	if (!(w.ns > 0))
		w.ns = 1e3; /* a microsecond each */
	r = flat_init(&w.flat, p);
	if (r == 0)
		r = add_rows(&w, value_num);
	if (r == 0 && w.rows.len)
		qsort_r(w.rows.data, w.rows.len, sizeof(*w.rows.data), compare, w.frames.data);
	if (r == 0)
		r = put_file(&w);
	return r < 0 ? err_set(err, r, "no memory to write the profile") : 0;
}
