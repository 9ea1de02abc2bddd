/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are made once per location, with the inlined functions as frames of their own, so that a
 * stack is a concatenation of ranges of location_frames. Equal frames of different locations are
 * found by a hash index, as are threads.
 */
#include "codec/common/tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

struct builder {
	struct tracks *t;
	struct index frames, threads;
	struct buf name;
};

static void builder_fini(struct builder *b)
{
	index_fini(&b->frames);
	index_fini(&b->threads);
	buf_fini(&b->name);
}

struct frame_key {
	const struct tracks *t;
	const struct tracks_frame *frame;
};

static bool frame_eq(const void *ctx, uint32_t id)
{
	const struct frame_key *k = ctx;
	const struct tracks_frame *have = &k->t->frames.data[id];

	return have->name == k->frame->name && have->file == k->frame->file &&
	       have->kind == k->frame->kind;
}

/*
 * The first frame of equal ones determines line and column. Frames are not distinguished by line,
 * because a track shows functions.
 */
static int add_frame(struct builder *b, const struct tracks_frame *frame)
{
	const struct frame_key key = { b->t, frame };
	uint32_t hash = hash_u64((uint64_t)frame->name << 32 | frame->file << 4 | frame->kind), id;
	int r = 0;

	if (!index_find(&b->frames, hash, frame_eq, &key, &id)) {
		id = (uint32_t)b->t->frames.len;
		r = vec_push(&b->t->frames, *frame);
		if (r == 0)
			r = index_add(&b->frames, hash, id);
	}
	return r < 0 ? r : vec_push(&b->t->location_frames, id);
}

static int add_location(struct builder *b, const struct profile_location *l)
{
	const struct profile *p = b->t->p;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_location_n_frames(l); i++) {
		struct tracks_frame frame = { .kind = l->kind };

		b->name.len = 0;
		profile_put_frame_name(p, l, i, &b->name);
		r = buf_error(&b->name);
		if (r == 0)
			r = strtab_add(b->t->strings, (const char *)b->name.data, b->name.len,
				       &frame.name);
		if (r == 0 && i < l->n_lines) {
			uint32_t file = profile_function(p, l->lines[i].function)->file;

			frame.line = l->lines[i].line;
			frame.column = l->lines[i].column;
			r = strtab_add(b->t->strings, profile_string(p, file),
				       profile_string_len(p, file), &frame.file);
		}
		if (r == 0)
			r = add_frame(b, &frame);
	}
	return r;
}

static int64_t label_number(const struct profile *p, const struct profile_label *l)
{
	return l->str ? strtoll(profile_string(p, l->str), NULL, 10) : l->num;
}

/*
 * Reads the thread from the labels that Cameo and other profilers write
 * ("thread_id" is from others). Numbers may be stored as text.
 */
static struct tracks_thread sample_thread(const struct profile *p, const struct profile_sample *s)
{
	struct tracks_thread t = { 0, 0, "", "" };

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &s->labels[i];
		const char *key = profile_string(p, l->key);

		if (!strcmp(key, "pid"))
			t.pid = label_number(p, l);
		else if (!strcmp(key, "tid") || !strcmp(key, "thread_id"))
			t.tid = label_number(p, l);
		else if (!strcmp(key, "comm"))
			t.process = profile_string(p, l->str);
		else if (!strcmp(key, "thread"))
			t.name = profile_string(p, l->str);
	}
	return t;
}

struct thread_key {
	const struct tracks *t;
	const struct tracks_thread *thread;
};

static bool thread_eq(const void *ctx, uint32_t id)
{
	const struct thread_key *k = ctx;
	const struct tracks_thread *have = &k->t->threads.data[id];

	return have->pid == k->thread->pid && have->tid == k->thread->tid;
}

/*
 * A thread has the names of its first sample. Samples without labels belong to thread 0 of process
 * 0.
 */
static int add_thread(struct builder *b, uint32_t sample)
{
	struct profile_sample s = profile_sample(b->t->p, sample);
	struct tracks_thread t = sample_thread(b->t->p, &s);
	const struct thread_key key = { b->t, &t };
	uint32_t hash = hash_u64((uint64_t)t.pid << 32 ^ (uint64_t)t.tid);
	int r;

	if (index_find(&b->threads, hash, thread_eq, &key, &b->t->thread_of[sample]))
		return 0;
	b->t->thread_of[sample] = (uint32_t)b->t->threads.len;
	r = vec_push(&b->t->threads, t);
	return r < 0 ? r : index_add(&b->threads, hash, b->t->thread_of[sample]);
}

int tracks_init(struct tracks *t, const struct profile *p)
{
	_cleanup_(builder_fini) struct builder b = { .t = t };
	uint32_t n_locations = profile_n_locations(p), n_samples = profile_n_samples(p);
	int r;

	*t = (struct tracks){ .p = p };
	r = strtab_new(&t->strings);
	t->first = calloc((size_t)n_locations + 1, sizeof(*t->first));
	t->thread_of = calloc((size_t)n_samples + 1, sizeof(*t->thread_of));
	if (!t->first || !t->thread_of)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n_locations; i++) {
		struct profile_location l = profile_location(p, i);

		t->first[i] = (uint32_t)t->location_frames.len;
		r = add_location(&b, &l);
	}
	t->first[n_locations] = (uint32_t)t->location_frames.len;
	for (uint32_t i = 0; r == 0 && i < n_samples; i++)
		r = add_thread(&b, i);
	return r;
}

void tracks_fini(struct tracks *t)
{
	strtab_free(t->strings);
	vec_fini(&t->frames);
	vec_fini(&t->threads);
	vec_fini(&t->location_frames);
	free(t->first);
	free(t->thread_of);
}

/*
 * Locations are leaf first and so are the frames of each; both are walked backwards to get the
 * order of a track, root first.
 */
int tracks_stack(const struct tracks *t, uint32_t stack, struct tracks_stack *out)
{
	size_t depth;
	const uint32_t *ids = profile_stack(t->p, stack, &depth);
	int r = 0;

	out->len = 0;
	while (r == 0 && depth-- > 0)
		for (uint32_t i = t->first[ids[depth] + 1]; r == 0 && i-- > t->first[ids[depth]];)
			r = vec_push(out, t->location_frames.data[i]);
	return r;
}
