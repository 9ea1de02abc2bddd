/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a thread are sorted, so that stacks with the same outer frames are neighbours and
 * each of these frames is one event. An event is written when it ends.
 *
 * The order of events in the file does not matter to viewers, so writing them at their end avoids a
 * second pass. Times are microseconds with a fraction, as the format demands.
 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/common/format_codec.h"
#include "codec/common/tracks.h"
#include "profile/profile.h"
#include "profile/unit.h"

/* A sample. Its stack is frames[first, first + n), root first. */
struct row {
	uint32_t thread, n;
	size_t first;
	int64_t value;
};

struct writer {
	struct tracks tracks;
	struct json j;
	struct {
		VEC(struct row);
	} rows;
	struct {
		VEC(uint32_t);
	} frames;
	double ns; /* per unit of the values */
	/* The current thread: the starts of its open events and the time, in microseconds. */
	struct {
		VEC(double);
	} starts;
	double now;
};

static void writer_fini(struct writer *w)
{
	tracks_fini(&w->tracks);
	vec_fini(&w->rows);
	vec_fini(&w->frames);
	vec_fini(&w->starts);
}

/*
 * Expands each sample into a row of frame ids. Rows refer to frames by position, because the array
 * moves while it grows.
 */
static int add_rows(struct writer *w, size_t value_num)
{
	struct tracks_stack stack = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_samples(w->tracks.p); i++) {
		struct profile_sample s = profile_sample(w->tracks.p, i);
		struct row row = { w->tracks.thread_of[i], 0, w->frames.len, s.values[value_num] };

		if (row.value <= 0)
			continue;
		r = tracks_stack(&w->tracks, s.stack, &stack);
		for (size_t k = 0; r == 0 && k < stack.len; k++)
			r = vec_push(&w->frames, stack.data[k]);
		row.n = (uint32_t)stack.len;
		if (r == 0)
			r = vec_push(&w->rows, row);
	}
	vec_fini(&stack);
	return r;
}

/* The number of outer frames that two samples have in common. */
static uint32_t common(const uint32_t *frames, const struct row *a, const struct row *b)
{
	uint32_t n = 0;

	while (n < a->n && n < b->n && frames[a->first + n] == frames[b->first + n])
		n++;
	return n;
}

/* Orders by thread, then by frames from the root; a prefix precedes longer stacks. */
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

static void put_ids(struct writer *w, const struct tracks_thread *t)
{
	json_member_int(&w->j, "pid", t->pid);
	json_member_int(&w->j, "tid", t->tid);
}

static void put_event(struct writer *w, const struct row *row, uint32_t depth)
{
	const struct tracks_frame *f = &w->tracks.frames.data[w->frames.data[row->first + depth]];
	const struct strtab *s = w->tracks.strings;

	json_object(&w->j);
	json_member_str(&w->j, "ph", "X");
	json_key(&w->j, "name");
	json_strn(&w->j, strtab_get(s, f->name), strtab_len(s, f->name));
	json_member_str(&w->j, "cat", profile_frame_kind_label(f->kind));
	json_member_double(&w->j, "ts", w->starts.data[depth]);
	json_member_double(&w->j, "dur", w->now - w->starts.data[depth]);
	put_ids(w, &w->tracks.threads.data[row->thread]);
	if (f->file) {
		json_member_object(&w->j, "args");
		json_key(&w->j, "file");
		json_strn(&w->j, strtab_get(s, f->file), strtab_len(s, f->file));
		json_member_uint(&w->j, "line", f->line);
		json_object_end(&w->j);
	}
	json_object_end(&w->j);
}

/* Ends the events of @row at depth @depth and deeper. */
static void close_events(struct writer *w, const struct row *row, uint32_t depth)
{
	while (w->starts.len > depth && !buf_error(w->j.out)) {
		put_event(w, row, (uint32_t)w->starts.len - 1);
		w->starts.len--;
	}
}

/*
 * The events that a row shares with the one before stay open; the others are closed, and those of
 * this row that are not open begin now. starts has one element for each open event.
 */
static int put_rows(struct writer *w)
{
	const struct row *before = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->rows.len && !buf_error(w->j.out); i++) {
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

/* Writes the metadata event that names a thread or a process; viewers show numbers without it. */
static void put_name(struct writer *w, const struct tracks_thread *t, const char *what,
		     const char *name)
{
	if (!*name)
		return;
	json_object(&w->j);
	json_member_str(&w->j, "ph", "M");
	json_member_str(&w->j, "name", what);
	put_ids(w, t);
	json_member_object(&w->j, "args");
	json_member_str(&w->j, "name", name);
	json_object_end(&w->j);
	json_object_end(&w->j);
}

static int put_file(struct writer *w)
{
	int r;

	json_object(&w->j);
	json_member_str(&w->j, "displayTimeUnit", "ms");
	json_member_array(&w->j, "traceEvents");
	for (size_t i = 0; i < w->tracks.threads.len; i++) {
		const struct tracks_thread *t = &w->tracks.threads.data[i];

		put_name(w, t, "process_name", t->process);
		put_name(w, t, "thread_name", t->name);
	}
	r = put_rows(w);
	json_array_end(&w->j);
	json_object_end(&w->j);
	return r < 0 ? r : buf_error(w->j.out);
}

int chrome_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		 struct err *err)
{
	_cleanup_(writer_fini) struct writer w = { .j = json_to(out) };
	size_t value_num = opt->value_num;
	int r;

	if (value_num >= profile_n_sample_types(p))
		return err_set(err, -EINVAL, "the profile has no sample type %zu", value_num + 1);
	w.ns = profile_unit_ns(profile_string(p, profile_sample_type(p, value_num).unit));
	if (!(w.ns > 0))
		w.ns = 1e3; /* values that are not times become microseconds */
	r = tracks_init(&w.tracks, p);
	if (r == 0)
		r = add_rows(&w, value_num);
	if (r == 0 && w.rows.len)
		qsort_r(w.rows.data, w.rows.len, sizeof(*w.rows.data), compare, w.frames.data);
	if (r == 0)
		r = put_file(&w);
	return r < 0 ? err_set(err, r, "out of memory while writing the profile") : 0;
}

/*
 * The position of an event in a written trace has no meaning, so FORMAT_TIMES is not claimed. A
 * top-level array is claimed by this format alone: no other format that is read here has one.
 */
const struct format_codec chrome_codec = {
	.json_keys = { "traceEvents", FORMAT_JSON_ARRAY },
	.read = chrome_read,
	.write = chrome_write,
	.features = FORMAT_LABELS | FORMAT_ALL_KINDS | FORMAT_LINES,
};

const struct format_codec cpuprofile_codec = { .json_keys = { "nodes" }, .read = cpuprofile_read };
