/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/sample_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"

struct stack {
	size_t at; /* in words */
	uint32_t n;
};

/* A set of labels: its text. */
struct labels {
	size_t at, len;
};

/* Time of a sample. The times of one struct sample_counts_sample form a list. */
struct seen {
	uint64_t time_ns;
	uint32_t previous_plus_1; /* index plus 1; 0: the first */
};

struct sample_counts {
	bool keep_times;
	struct {
		VEC(uint64_t);
	} words;
	struct {
		VEC(struct stack);
	} stacks;
	struct {
		VEC(struct sample_counts_thread);
	} threads;
	struct {
		VEC(char);
	} texts;
	struct {
		VEC(struct labels);
	} labels; /* number i is i + 1 in samples */
	struct {
		VEC(struct sample_counts_sample);
	} samples;
	struct {
		VEC(struct seen);
	} seen;
	struct index stack_index, thread_index, sample_index, labels_index;
	uint64_t total, n_unlabelled;
};

struct stack_key {
	const struct sample_counts *c;
	const uint64_t *words;
	size_t n;
};

struct thread_key {
	const struct sample_counts *c;
	const struct sample_counts_thread *thread;
};

struct labels_key {
	const struct sample_counts *c;
	const struct sample_labels *labels;
};

struct sample_key {
	struct sample_counts *c;
	const struct sample_labels *text; /* of labels; NULL: none */
	uint32_t stack, thread, labels;
	uint8_t off_state, event, place_plus_1, memory;
};

static bool same_stack(const void *ctx, uint32_t id)
{
	const struct stack_key *k = ctx;
	const struct stack *s = &k->c->stacks.data[id];

	return s->n == k->n &&
	       !memcmp(k->c->words.data + s->at, k->words, k->n * sizeof(*k->words));
}

static bool same_thread(const void *ctx, uint32_t id)
{
	const struct thread_key *k = ctx;

	return !memcmp(&k->c->threads.data[id], k->thread, sizeof(*k->thread));
}

static bool same_labels(const void *ctx, uint32_t id)
{
	const struct labels_key *k = ctx;
	const struct labels *l = &k->c->labels.data[id];

	return l->len == k->labels->len &&
	       !memcmp(k->c->texts.data + l->at, k->labels->text, l->len);
}

static bool same_sample(const void *ctx, uint32_t id)
{
	const struct sample_key *k = ctx;
	const struct sample_counts_sample *s = &k->c->samples.data[id];

	return s->stack == k->stack && s->thread == k->thread && s->labels == k->labels &&
	       s->off_state == k->off_state && s->event == k->event &&
	       s->place_plus_1 == k->place_plus_1 && s->memory == k->memory;
}

int sample_counts_new(struct sample_counts **out, bool keep_times)
{
	struct sample_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->keep_times = keep_times;
	*out = c;
	return 0;
}

void sample_counts_clear(struct sample_counts *c)
{
	vec_fini(&c->words);
	vec_fini(&c->stacks);
	vec_fini(&c->threads);
	vec_fini(&c->texts);
	vec_fini(&c->labels);
	vec_fini(&c->samples);
	vec_fini(&c->seen);
	index_fini(&c->stack_index);
	index_fini(&c->thread_index);
	index_fini(&c->sample_index);
	index_fini(&c->labels_index);
	c->total = c->n_unlabelled = 0;
}

void sample_counts_free(struct sample_counts *c)
{
	if (!c)
		return;
	sample_counts_clear(c);
	free(c);
}

static int stack_id(struct sample_counts *c, const uint64_t *words, size_t n, uint32_t *out)
{
	struct stack_key key = { c, words, n };
	uint32_t hash = hash_bytes(words, n * sizeof(*words)), id = (uint32_t)c->stacks.len;
	int r;

	if (index_find(&c->stack_index, hash, same_stack, &key, out))
		return 0;
	r = vec_reserve(&c->words, c->words.len + n);
	if (r == 0)
		r = vec_push(&c->stacks, (struct stack){ c->words.len, (uint32_t)n });
	if (r == 0)
		r = index_add(&c->stack_index, hash, id);
	if (r < 0)
		return r;
	if (n)
		memcpy(c->words.data + c->words.len, words, n * sizeof(*words));
	c->words.len += n;
	*out = id;
	return 0;
}

/* Returns 0 or SAMPLE_COUNTS_NEW_THREAD, or -ENOMEM. */
static int thread_id(struct sample_counts *c, const struct sample_counts_thread *thread,
		     uint32_t *out)
{
	struct thread_key key = { c, thread };
	uint32_t hash = hash_bytes(thread, sizeof(*thread)), id = (uint32_t)c->threads.len;
	int r;

	if (index_find(&c->thread_index, hash, same_thread, &key, out))
		return 0;
	r = vec_push(&c->threads, *thread);
	if (r == 0)
		r = index_add(&c->thread_index, hash, id);
	*out = id;
	return r < 0 ? r : SAMPLE_COUNTS_NEW_THREAD;
}

/* Stores 0 in *@out if there is no room for another set. Returns 0 or -ENOMEM. */
static int labels_id(struct sample_counts *c, const struct sample_labels *labels, uint32_t *out)
{
	struct labels_key key = { c, labels };
	uint32_t hash, id = (uint32_t)c->labels.len;
	int r;

	*out = 0;
	if (!labels || !labels->len)
		return 0;
	hash = hash_bytes(labels->text, labels->len);
	if (index_find(&c->labels_index, hash, same_labels, &key, &id)) {
		*out = id + 1;
		return 0;
	}
	if (id >= SAMPLE_LABELS_MAX || c->texts.len + labels->len > SAMPLE_LABELS_BYTES) {
		c->n_unlabelled++;
		return 0;
	}
	r = vec_reserve(&c->texts, c->texts.len + labels->len);
	if (r == 0)
		r = vec_push(&c->labels, (struct labels){ c->texts.len, labels->len });
	if (r == 0)
		r = index_add(&c->labels_index, hash, id);
	if (r < 0)
		return r;
	memcpy(c->texts.data + c->texts.len, labels->text, labels->len);
	c->texts.len += labels->len;
	*out = id + 1;
	return 0;
}

static int sample_id(struct sample_counts *c, const struct sample_key *key, uint32_t *out)
{
	uint32_t hash =
		hash_pair((uint64_t)key->stack << 32 | key->thread,
			  (uint64_t)key->labels << 17 ^ (uint64_t)key->off_state << 60 ^
				  (uint64_t)key->event << 28 ^ (uint64_t)key->place_plus_1 << 52 ^
				  (uint64_t)key->memory << 40);
	uint32_t id = (uint32_t)c->samples.len;
	struct sample_counts_sample added = { .stack = key->stack,
					      .thread = key->thread,
					      .labels = key->labels,
					      .off_state = key->off_state,
					      .event = key->event,
					      .place_plus_1 = key->place_plus_1,
					      .memory = key->memory };
	int r;

	if (index_find(&c->sample_index, hash, same_sample, key, out))
		return 0;
	r = vec_push(&c->samples, added);
	if (r == 0)
		r = index_add(&c->sample_index, hash, id);
	*out = id;
	return r;
}

/* A time for which memory runs out is missing; its sample is counted regardless. */
static void add_time(struct sample_counts *c, struct sample_counts_sample *s, uint64_t time_ns)
{
	uint32_t previous = s->count ? s->last_time + 1 : 0;

	if (vec_push(&c->seen, (struct seen){ time_ns, previous }) == 0)
		s->last_time = (uint32_t)c->seen.len - 1;
}

/*
 * Finds or adds the sample of @thread and a stack; @key holds state, event and place. Returns
 * 0, SAMPLE_COUNTS_NEW_THREAD or -ENOMEM.
 */
static int find_sample(struct sample_key key, const struct sample_counts_thread *thread,
		       const uint64_t *words, size_t n_words, struct sample_counts_sample **out)
{
	struct sample_counts *c = key.c;
	uint32_t id;
	int r, thread_r;

	r = stack_id(c, words, n_words, &key.stack);
	if (r < 0)
		return r;
	thread_r = thread_id(c, thread, &key.thread);
	if (thread_r < 0)
		return thread_r;
	r = labels_id(c, key.text, &key.labels);
	if (r < 0)
		return r;
	r = sample_id(c, &key, &id);
	if (r < 0)
		return r;
	*out = &c->samples.data[id];
	return thread_r;
}

int sample_counts_add(struct sample_counts *c, const struct sample_counts_thread *thread,
		      uint64_t time_ns, const uint64_t *words, size_t n_words)
{
	return sample_counts_add_event(c, thread, NULL, 0, time_ns, words, n_words);
}

int sample_counts_add_event(struct sample_counts *c, const struct sample_counts_thread *thread,
			    const struct sample_labels *labels, uint8_t event, uint64_t time_ns,
			    const uint64_t *words, size_t n_words)
{
	struct sample_key key = { .c = c, .text = labels, .event = event };
	struct sample_counts_sample *s;
	int r = find_sample(key, thread, words, n_words, &s);

	if (r < 0)
		return r;
	if (c->keep_times)
		add_time(c, s, time_ns);
	s->count++;
	c->total++;
	return r;
}

int sample_counts_add_wait(struct sample_counts *c, const struct sample_counts_thread *thread,
			   const struct sample_counts_wait *wait, const uint64_t *words,
			   size_t n_words)
{
	struct sample_key key = { .c = c,
				  .text = &wait->labels,
				  .off_state = wait->state,
				  .place_plus_1 = wait->place_plus_1 };
	struct sample_counts_sample *s;
	int r = find_sample(key, thread, words, n_words, &s);

	if (r < 0)
		return r;
	s->off_ns += wait->ns;
	s->thinned_ns += wait->is_thinned ? wait->ns : 0;
	s->count += wait->count;
	return r;
}

int sample_counts_add_memory(struct sample_counts *c, const struct sample_counts_thread *thread,
			     const struct sample_labels *labels, uint8_t kind, uint64_t bytes,
			     const uint64_t *words, size_t n_words)
{
	enum { PAGE_BYTES = 4096 };
	struct sample_key key = { .c = c, .text = labels, .memory = kind };
	struct sample_counts_sample *s;
	int r = find_sample(key, thread, words, n_words, &s);

	if (r < 0)
		return r;
	s->bytes += bytes;
	s->count += bytes / PAGE_BYTES;
	return r;
}

int sample_counts_add_heap(struct sample_counts *c, const struct sample_counts_thread *thread,
			   const struct sample_counts_heap *heap, const uint64_t *words,
			   size_t n_words)
{
	struct sample_key key = { .c = c, .text = &heap->labels };
	struct sample_counts_sample *s;
	int r = find_sample(key, thread, words, n_words, &s);

	if (r < 0)
		return r;
	s->count += heap->objects;
	s->bytes += heap->bytes;
	s->live_count += heap->live_objects;
	s->live_bytes += heap->live_bytes;
	return r;
}

int sample_counts_intern(struct sample_counts *c, const struct sample_counts_thread *thread,
			 const struct sample_labels *labels, const uint64_t *words, size_t n_words,
			 uint32_t *out)
{
	struct sample_counts_sample *s;
	int r = find_sample((struct sample_key){ .c = c, .text = labels }, thread, words, n_words,
			    &s);

	if (r < 0)
		return r;
	*out = (uint32_t)(s - c->samples.data);
	return 0;
}

int sample_counts_intern_thread(struct sample_counts *c, const struct sample_counts_thread *thread,
				uint32_t *out)
{
	int r = thread_id(c, thread, out);

	return r < 0 ? r : 0;
}

void sample_counts_scale(struct sample_counts *c, sample_counts_scale_fn fn, void *ctx)
{
	for (size_t i = 0; i < c->samples.len; i++) {
		struct sample_counts_sample *s = &c->samples.data[i];
		struct sample_counts_scale scale;
		double single = (double)(s->off_ns - s->thinned_ns);

		if (!s->place_plus_1)
			continue;
		scale = fn(ctx, &c->threads.data[s->thread], s->place_plus_1 - 1);
		s->off_ns =
			(uint64_t)((single + (double)s->thinned_ns * scale.thinned) * scale.all);
		s->thinned_ns = 0;
	}
}

size_t sample_counts_times(const struct sample_counts *c, const struct sample_counts_sample *s,
			   uint64_t *out)
{
	size_t n = 0;

	if (!c->keep_times || !c->seen.len || s->off_state || s->memory)
		return 0;
	for (uint32_t at = s->last_time + 1; at && n < s->count;) {
		const struct seen *seen = &c->seen.data[at - 1];

		out[n++] = seen->time_ns;
		at = seen->previous_plus_1;
	}
	return n;
}

size_t sample_counts_bytes(const struct sample_counts *c)
{
	return c->words.cap * sizeof(*c->words.data) + c->stacks.cap * sizeof(*c->stacks.data) +
	       c->threads.cap * sizeof(*c->threads.data) + c->texts.cap +
	       c->labels.cap * sizeof(*c->labels.data) + c->samples.cap * sizeof(*c->samples.data) +
	       c->seen.cap * sizeof(*c->seen.data) +
	       ((size_t)c->stack_index.n_slots + c->thread_index.n_slots + c->sample_index.n_slots +
		c->labels_index.n_slots) *
		       sizeof(struct index_slot);
}

size_t sample_counts_truncate(const struct sample_counts *c, size_t max_bytes, uint64_t *words,
			      size_t n)
{
	if (!max_bytes || n <= SAMPLE_COUNTS_TRUNCATED_FRAMES + 1 ||
	    sample_counts_bytes(c) <= max_bytes)
		return n;
	words[SAMPLE_COUNTS_TRUNCATED_FRAMES] = FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_ROOM);
	return SAMPLE_COUNTS_TRUNCATED_FRAMES + 1;
}

bool sample_counts_is_full(const struct sample_counts *c, size_t max_bytes)
{
	return max_bytes && sample_counts_bytes(c) > max_bytes + max_bytes / 4;
}

size_t sample_counts_n_samples(const struct sample_counts *c)
{
	return c->samples.len;
}

const struct sample_counts_sample *sample_counts_sample(const struct sample_counts *c, size_t i)
{
	return &c->samples.data[i];
}

size_t sample_counts_n_stacks(const struct sample_counts *c)
{
	return c->stacks.len;
}

const uint64_t *sample_counts_stack(const struct sample_counts *c, uint32_t id, size_t *out_n)
{
	const struct stack *s = &c->stacks.data[id];

	*out_n = s->n;
	return c->words.data + s->at;
}

const struct sample_counts_thread *sample_counts_thread(const struct sample_counts *c, uint32_t id)
{
	return &c->threads.data[id];
}

uint64_t sample_counts_total(const struct sample_counts *c)
{
	return c->total;
}

struct sample_labels sample_counts_labels(const struct sample_counts *c,
					  const struct sample_counts_sample *s)
{
	const struct labels *l = s->labels ? &c->labels.data[s->labels - 1] : NULL;

	return l ? (struct sample_labels){ c->texts.data + l->at, l->len }
		 : (struct sample_labels){ 0 };
}

size_t sample_counts_n_labels(const struct sample_counts *c)
{
	return c->labels.len;
}

uint64_t sample_counts_n_unlabelled(const struct sample_counts *c)
{
	return c->n_unlabelled;
}
