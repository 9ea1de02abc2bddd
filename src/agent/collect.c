/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/collect.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

struct stack {
	size_t at; /* in words */
	uint32_t n;
};

struct collect {
	struct {
		VEC(uint64_t);
	} words;
	struct {
		VEC(struct stack);
	} stacks;
	struct {
		VEC(struct collect_thread);
	} threads;
	struct {
		VEC(struct collect_sample);
	} samples;
	struct index stack_index, thread_index, sample_index;
	uint64_t total;
};

struct stack_key {
	const struct collect *c;
	const uint64_t *words;
	size_t n;
};

struct thread_key {
	const struct collect *c;
	const struct collect_thread *thread;
};

struct sample_key {
	const struct collect *c;
	uint32_t stack, thread;
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

static bool same_sample(const void *ctx, uint32_t id)
{
	const struct sample_key *k = ctx;
	const struct collect_sample *s = &k->c->samples.data[id];

	return s->stack == k->stack && s->thread == k->thread;
}

int collect_new(struct collect **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void collect_clear(struct collect *c)
{
	vec_fini(&c->words);
	vec_fini(&c->stacks);
	vec_fini(&c->threads);
	vec_fini(&c->samples);
	index_fini(&c->stack_index);
	index_fini(&c->thread_index);
	index_fini(&c->sample_index);
	c->total = 0;
}

void collect_free(struct collect *c)
{
	if (!c)
		return;
	collect_clear(c);
	free(c);
}

static int stack_id(struct collect *c, const uint64_t *words, size_t n, uint32_t *out)
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

static int thread_id(struct collect *c, const struct collect_thread *thread, uint32_t *out)
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
	return r;
}

int collect_add(struct collect *c, const struct collect_thread *thread, const uint64_t *words,
		size_t n_words)
{
	struct sample_key key = { .c = c };
	uint32_t hash, id;
	int r;

	r = stack_id(c, words, n_words, &key.stack);
	if (r == 0)
		r = thread_id(c, thread, &key.thread);
	if (r < 0)
		return r;
	hash = hash_u64((uint64_t)key.stack << 32 | key.thread);
	if (!index_find(&c->sample_index, hash, same_sample, &key, &id)) {
		id = (uint32_t)c->samples.len;
		r = vec_push(&c->samples, (struct collect_sample){ key.stack, key.thread, 0 });
		if (r == 0)
			r = index_add(&c->sample_index, hash, id);
		if (r < 0)
			return r;
	}
	c->samples.data[id].count++;
	c->total++;
	return 0;
}

size_t collect_n_samples(const struct collect *c)
{
	return c->samples.len;
}

const struct collect_sample *collect_sample(const struct collect *c, size_t i)
{
	return &c->samples.data[i];
}

size_t collect_n_stacks(const struct collect *c)
{
	return c->stacks.len;
}

const uint64_t *collect_stack(const struct collect *c, uint32_t id, size_t *out_n)
{
	const struct stack *s = &c->stacks.data[id];

	*out_n = s->n;
	return c->words.data + s->at;
}

const struct collect_thread *collect_thread(const struct collect *c, uint32_t id)
{
	return &c->threads.data[id];
}

uint64_t collect_total(const struct collect *c)
{
	return c->total;
}
