/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/flat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "profile/name.h"
#include "profile/profile.h"

struct builder {
	struct flat *f;
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
	const struct flat *f;
	const struct flat_frame *frame;
};

static bool frame_eq(const void *ctx, uint32_t id)
{
	const struct frame_key *k = ctx;
	const struct flat_frame *have = &k->f->frames.data[id];

	return have->name == k->frame->name && have->file == k->frame->file &&
	       have->kind == k->frame->kind;
}

static int add_frame(struct builder *b, const struct flat_frame *frame)
{
	const struct frame_key key = { b->f, frame };
	uint32_t hash = hash_u64((uint64_t)frame->name << 32 | frame->file << 4 | frame->kind), id;
	int r = 0;

	if (!index_find(&b->frames, hash, frame_eq, &key, &id)) {
		id = (uint32_t)b->f->frames.len;
		r = vec_push(&b->f->frames, *frame);
		if (r == 0)
			r = index_add(&b->frames, hash, id);
	}
	return r < 0 ? r : vec_push(&b->f->location_frames, id);
}

static int add_location(struct builder *b, const struct profile_location *l)
{
	const struct profile *p = b->f->p;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_frames(l); i++) {
		struct flat_frame frame = { .kind = l->kind };

		b->name.len = 0;
		profile_put_frame_name(p, l, i, &b->name);
		r = buf_error(&b->name);
		if (r == 0)
			r = strtab_add(b->f->strings, (const char *)b->name.data, b->name.len,
				       &frame.name);
		if (r == 0 && i < l->n_lines) {
			uint32_t file = profile_function(p, l->lines[i].function)->file;

			frame.line = l->lines[i].line;
			frame.column = l->lines[i].column;
			r = strtab_add(b->f->strings, profile_string(p, file),
				       profile_string_len(p, file), &frame.file);
		}
		if (r == 0)
			r = add_frame(b, &frame);
	}
	return r;
}

static int64_t number_of(const struct profile *p, const struct profile_label *l)
{
	return l->str ? strtoll(profile_string(p, l->str), NULL, 10) : l->num;
}

static struct flat_thread thread_of(const struct profile *p, const struct profile_sample *s)
{
	struct flat_thread t = { 0, 0, "", "" };

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &s->labels[i];
		const char *key = profile_string(p, l->key);

		if (!strcmp(key, "pid"))
			t.pid = number_of(p, l);
		else if (!strcmp(key, "tid") || !strcmp(key, "thread_id"))
			t.tid = number_of(p, l);
		else if (!strcmp(key, "comm"))
			t.process = profile_string(p, l->str);
		else if (!strcmp(key, "thread"))
			t.name = profile_string(p, l->str);
	}
	return t;
}

struct thread_key {
	const struct flat *f;
	const struct flat_thread *thread;
};

static bool thread_eq(const void *ctx, uint32_t id)
{
	const struct thread_key *k = ctx;
	const struct flat_thread *have = &k->f->threads.data[id];

	return have->pid == k->thread->pid && have->tid == k->thread->tid;
}

static int add_thread(struct builder *b, uint32_t sample)
{
	struct profile_sample s = profile_sample(b->f->p, sample);
	struct flat_thread t = thread_of(b->f->p, &s);
	const struct thread_key key = { b->f, &t };
	uint32_t hash = hash_u64((uint64_t)t.pid << 32 ^ (uint64_t)t.tid);
	int r;

	if (index_find(&b->threads, hash, thread_eq, &key, &b->f->thread_of[sample]))
		return 0;
	b->f->thread_of[sample] = (uint32_t)b->f->threads.len;
	r = vec_push(&b->f->threads, t);
	return r < 0 ? r : index_add(&b->threads, hash, b->f->thread_of[sample]);
}

int flat_init(struct flat *f, const struct profile *p)
{
	_cleanup_(builder_fini) struct builder b = { .f = f };
	uint32_t n_locations = profile_n_locations(p), n_samples = profile_n_samples(p);
	int r;

	*f = (struct flat){ .p = p };
	r = strtab_new(&f->strings);
	f->first = calloc((size_t)n_locations + 1, sizeof(*f->first));
	f->thread_of = calloc((size_t)n_samples + 1, sizeof(*f->thread_of));
	if (!f->first || !f->thread_of)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n_locations; i++) {
		struct profile_location l = profile_location(p, i);

		f->first[i] = (uint32_t)f->location_frames.len;
		r = add_location(&b, &l);
	}
	f->first[n_locations] = (uint32_t)f->location_frames.len;
	for (uint32_t i = 0; r == 0 && i < n_samples; i++)
		r = add_thread(&b, i);
	return r;
}

void flat_fini(struct flat *f)
{
	strtab_free(f->strings);
	vec_fini(&f->frames);
	vec_fini(&f->threads);
	vec_fini(&f->location_frames);
	free(f->first);
	free(f->thread_of);
}

int flat_stack(const struct flat *f, uint32_t stack, struct flat_stack *out)
{
	size_t depth;
	const uint32_t *ids = profile_stack(f->p, stack, &depth);
	int r = 0;

	out->len = 0;
	while (r == 0 && depth-- > 0)
		for (uint32_t i = f->first[ids[depth] + 1]; r == 0 && i-- > f->first[ids[depth]];)
			r = vec_push(out, f->location_frames.data[i]);
	return r;
}
