/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and threads are interned in a struct sample_counts of its own, whose sample numbers are
 * those of the sums. A block is identified by the time and the thread of its record. If the record
 * of its end is decoded first, its entry has no stack yet.
 */
#include "profiler/allocs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "profiler/sample_counts.h"

struct sums {
	double objects, bytes, live_objects, live_bytes;
};

struct block {
	uint64_t time_ns, bytes;
	uint32_t tid;
	uint32_t stack_plus_1; /* 0: it has ended before its stack was known */
	uint32_t next_free;    /* of an entry that is not used: index plus 1 of the next one */
};

struct allocs {
	double mean;
	bool frees;
	size_t max_bytes;
	struct sample_counts *stacks;
	struct {
		VEC(struct sums);
	} sums;
	struct {
		VEC(struct block);
	} blocks;
	struct index by_id;
	uint32_t first_free; /* index plus 1; 0: none */
	double variance;
	struct allocs_stats stats;
};

int allocs_new(struct allocs **out, uint64_t mean_bytes, bool frees, size_t max_bytes)
{
	_cleanup_(allocs_freep) struct allocs *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->mean = (double)mean_bytes;
	a->frees = frees;
	a->max_bytes = max_bytes;
	if (sample_counts_new(&a->stacks, false) < 0)
		return -ENOMEM;
	*out = steal_ptr(&a);
	return 0;
}

void allocs_free(struct allocs *a)
{
	if (!a)
		return;
	sample_counts_free(a->stacks);
	vec_fini(&a->sums);
	vec_fini(&a->blocks);
	index_fini(&a->by_id);
	free(a);
}

/* ---- blocks ------------------------------------------------------------------------- */

struct block_key {
	const struct allocs *a;
	uint64_t time_ns;
	uint32_t tid;
};

static bool same_block(const void *ctx, uint32_t id)
{
	const struct block_key *k = ctx;
	const struct block *b = &k->a->blocks.data[id];

	return b->time_ns == k->time_ns && b->tid == k->tid;
}

static uint32_t hash_of(uint64_t time_ns, uint32_t tid)
{
	return hash_pair(time_ns, tid);
}

static struct block *find_block(const struct allocs *a, uint64_t time_ns, uint32_t tid)
{
	struct block_key key = { a, time_ns, tid };
	uint32_t id;

	return index_find(&a->by_id, hash_of(time_ns, tid), same_block, &key, &id)
		       ? &a->blocks.data[id]
		       : NULL;
}

static int add_block(struct allocs *a, const struct block *b)
{
	uint32_t id = a->first_free ? a->first_free - 1 : (uint32_t)a->blocks.len;
	int r = 0;

	if (!a->first_free)
		r = vec_push(&a->blocks, (struct block){ 0 });
	if (r == 0)
		r = index_add(&a->by_id, hash_of(b->time_ns, b->tid), id);
	if (r < 0)
		return r;
	if (a->first_free)
		a->first_free = a->blocks.data[id].next_free;
	a->blocks.data[id] = *b;
	return 0;
}

static void remove_block(struct allocs *a, struct block *b)
{
	uint32_t id = (uint32_t)(b - a->blocks.data);

	index_remove(&a->by_id, hash_of(b->time_ns, b->tid), id);
	*b = (struct block){ .next_free = a->first_free };
	a->first_free = id + 1;
}

static bool is_full(const struct allocs *a)
{
	return sample_counts_bytes(a->stacks) + a->sums.cap * sizeof(*a->sums.data) +
		       a->blocks.cap * (sizeof(*a->blocks.data) + 2 * sizeof(struct index_slot)) >
	       a->max_bytes;
}

/* ---- records ------------------------------------------------------------------------ */

/* The number of allocations of @bytes that a sampled one stands for. */
static double weight(const struct allocs *a, uint64_t bytes)
{
	return -1 / expm1(-(double)bytes / a->mean);
}

static void count_live(struct allocs *a, uint32_t stack, uint64_t bytes, double sign)
{
	double n = sign * weight(a, bytes);

	a->sums.data[stack].live_objects += n;
	a->sums.data[stack].live_bytes += n * (double)bytes;
	a->stats.live_bytes += n * (double)bytes;
}

/* The variance of the estimate of a sum is that of each sampled allocation's chance. */
static void count(struct allocs *a, uint32_t stack, uint64_t bytes)
{
	double n = weight(a, bytes), size = (double)bytes;

	a->sums.data[stack].objects += n;
	a->sums.data[stack].bytes += n * size;
	a->stats.bytes += n * size;
	a->variance += size * size * n * (n - 1);
	a->stats.n_samples++;
}

/* Finds the number of the stack's sums. Returns 0 or -ENOMEM. */
static int find_sums(struct allocs *a, const struct sample_counts_thread *thread,
		     const struct sample_labels *labels, const uint64_t *words, size_t n,
		     uint32_t *out)
{
	int r = is_full(a) ? -ENOMEM
			   : sample_counts_intern(a->stacks, thread, labels, words, n, out);

	while (r == 0 && a->sums.len <= *out)
		r = vec_push(&a->sums, (struct sums){ 0 });
	return r;
}

void allocs_add(struct allocs *a, const struct record_header *h,
		const struct sample_counts_thread *thread, const struct sample_labels *labels,
		const uint64_t *words, size_t n)
{
	struct block *ended = a->frees ? find_block(a, h->time_ns, h->tid) : NULL;
	struct block block = { .time_ns = h->time_ns, .tid = h->tid, .bytes = h->arg };
	uint32_t stack;

	if (!h->arg || find_sums(a, thread, labels, words, n, &stack) < 0) {
		a->stats.n_no_room++;
		return;
	}
	count(a, stack, h->arg);
	if (ended) {
		remove_block(a, ended);
		a->stats.n_ended++;
		return;
	}
	block.stack_plus_1 = stack + 1;
	if (!a->frees)
		return;
	if (add_block(a, &block) < 0)
		a->stats.n_no_room++;
	else
		count_live(a, stack, h->arg, 1);
}

void allocs_end(struct allocs *a, const struct record_header *h)
{
	const struct block early = { .time_ns = h->arg, .tid = (uint32_t)h->len };
	struct block *b = find_block(a, h->arg, (uint32_t)h->len);

	if (b && b->stack_plus_1) {
		count_live(a, b->stack_plus_1 - 1, b->bytes, -1);
		remove_block(a, b);
		a->stats.n_ended++;
	} else if (!b && !is_full(a)) {
		(void)add_block(a, &early);
	}
}

/* ---- results ------------------------------------------------------------------------ */

static uint64_t rounded(double v)
{
	return v > 0 ? (uint64_t)llround(v) : 0;
}

int allocs_attribute(const struct allocs *a, struct sample_counts *to)
{
	int r = 0;

	for (size_t i = 0; i < a->sums.len && r >= 0; i++) {
		const struct sample_counts_sample *s = sample_counts_sample(a->stacks, i);
		const struct sums *sums = &a->sums.data[i];
		const struct sample_counts_heap heap = {
			.objects = rounded(sums->objects),
			.bytes = rounded(sums->bytes),
			.live_objects = rounded(sums->live_objects),
			.live_bytes = rounded(sums->live_bytes),
			.labels = sample_counts_labels(a->stacks, s),
		};
		size_t n;
		const uint64_t *words = sample_counts_stack(a->stacks, s->stack, &n);

		if (heap.objects)
			r = sample_counts_add_heap(to, sample_counts_thread(a->stacks, s->thread),
						   &heap, words, n);
	}
	return r < 0 ? r : 0;
}

void allocs_stats(const struct allocs *a, struct allocs_stats *out)
{
	*out = a->stats;
	out->bytes_error = sqrt(a->variance);
}
