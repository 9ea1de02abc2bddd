/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions are stored in the order of their addition. The first lookup after
 * an addition builds a sorted table of segments, each with the newest function
 * that covers it. The sweep visits start addresses in ascending order and
 * holds the functions open at the current address in a heap, newest on top.
 *
 * Lookups by start use a hash index instead. A jitdump may alternate additions
 * and such lookups, each of which would otherwise sort the table.
 */
#include "symbol/jit_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"

struct function {
	uint64_t start, end;
	uint32_t name, lines_id;
};

struct segment {
	uint64_t start;
	uint32_t id; /* index in functions, or GAP */
};

struct jit_table {
	struct strtab *names;
	struct {
		VEC(struct function);
	} functions;
	struct {
		VEC(struct segment);
	} segments;
	bool stale;            /* Functions were added after the segments were built. */
	struct index by_start; /* the newest function at each start; empty until it is needed */
	uint32_t n_by_start;   /* number of functions that the index includes */
};

enum { GAP = UINT32_MAX };

int jit_table_new(struct jit_table **out)
{
	struct jit_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (strtab_new(&t->names) < 0) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void jit_table_free(struct jit_table *t)
{
	if (!t)
		return;
	strtab_free(t->names);
	vec_fini(&t->functions);
	vec_fini(&t->segments);
	index_fini(&t->by_start);
	free(t);
}

void jit_table_clear(struct jit_table *t)
{
	struct strtab *names;

	if (strtab_new(&names) == 0) {
		strtab_free(t->names);
		t->names = names;
	}
	vec_fini(&t->functions);
	vec_fini(&t->segments);
	index_fini(&t->by_start);
	t->n_by_start = 0;
	t->stale = false;
}

int jit_table_add(struct jit_table *t, uint64_t start, uint64_t size, const char *name,
		  size_t name_len, uint32_t lines_id)
{
	struct function f = { .start = start, .end = start + size, .lines_id = lines_id };
	int r;

	if (!size || f.end < start)
		return 0;
	if (t->functions.len >= JIT_FUNCTIONS_MAX || strtab_bytes(t->names) > JIT_NAMES_MAX)
		return -E2BIG;
	r = strtab_add(t->names, name, name_len < JIT_NAME_MAX ? name_len : JIT_NAME_MAX, &f.name);
	if (r == 0)
		r = vec_push(&t->functions, f);
	t->stale |= r == 0;
	return r;
}

struct order {
	uint64_t start;
	uint32_t id;
};

static int by_start(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* A max-heap of function ids. Ids ascend with time, so the newest function is on top. */
struct heap {
	uint32_t *ids;
	size_t len;
};

static void heap_push(struct heap *h, uint32_t id)
{
	size_t i = h->len++;

	for (; i && h->ids[(i - 1) / 2] < id; i = (i - 1) / 2)
		h->ids[i] = h->ids[(i - 1) / 2];
	h->ids[i] = id;
}

static void heap_pop(struct heap *h)
{
	uint32_t last = h->ids[--h->len];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->len)
			break;
		child += child + 1 < h->len && h->ids[child + 1] > h->ids[child];
		if (h->ids[child] <= last)
			break;
		h->ids[i] = h->ids[child];
		i = child;
	}
	h->ids[i] = last;
}

static int emit(struct jit_table *t, uint64_t start, uint32_t id)
{
	if (t->segments.len && t->segments.data[t->segments.len - 1].id == id)
		return 0;
	return vec_push(&t->segments, (struct segment){ start, id });
}

/*
 * Functions whose end has passed stay in the heap until they reach its top, since only the top
 * decides the current segment.
 */
static int sweep(struct jit_table *t, const struct order *order, struct heap *open)
{
	const struct function *fs = t->functions.data;
	size_t n = t->functions.len, i = 0;
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && (open->len || i < n)) {
		uint64_t next;

		while (open->len && fs[open->ids[0]].end <= at)
			heap_pop(open);
		if (!open->len) {
			r = emit(t, at, GAP);
			if (i == n || r < 0)
				break;
			at = order[i].start;
		}
		while (i < n && order[i].start <= at)
			heap_push(open, order[i++].id);
		r = r ? r : emit(t, at, open->ids[0]);
		next = fs[open->ids[0]].end;
		at = i < n && order[i].start < next ? order[i].start : next;
	}
	return r < 0 ? r : emit(t, at, GAP);
}

static int rebuild(struct jit_table *t)
{
	size_t n = t->functions.len;
	_cleanup_(freep) struct order *order = calloc(n + 1, sizeof(*order));
	_cleanup_(freep) uint32_t *ids = calloc(n + 1, sizeof(*ids));
	struct heap open = { .ids = ids };
	int r;

	if (!order || !ids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct order){ t->functions.data[i].start, (uint32_t)i };
	qsort(order, n, sizeof(*order), by_start);
	t->segments.len = 0;
	r = sweep(t, order, &open);
	t->stale = r < 0;
	return r;
}

static void fill(const struct jit_table *t, uint32_t id, struct jit_function *out)
{
	const struct function *f = &t->functions.data[id];

	*out = (struct jit_function){
		.start = f->start,
		.size = f->end - f->start,
		.name = strtab_get(t->names, f->name),
		.lines_id = f->lines_id,
	};
}

int jit_table_find(struct jit_table *t, uint64_t addr, struct jit_function *out)
{
	size_t lo = 0, hi;

	if (t->stale && rebuild(t) < 0)
		return -ENOMEM;
	for (hi = t->segments.len; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->segments.data[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || t->segments.data[lo - 1].id == GAP)
		return -ENOENT;
	fill(t, t->segments.data[lo - 1].id, out);
	return 0;
}

struct start_key {
	const struct jit_table *t;
	uint64_t start;
};

static bool starts_at(const void *ctx, uint32_t id)
{
	const struct start_key *key = ctx;

	return key->t->functions.data[id].start == key->start;
}

/* Includes the functions in the index that were added since the last call. */
static int index_starts(struct jit_table *t, uint64_t seed)
{
	for (; t->n_by_start < t->functions.len; t->n_by_start++) {
		const struct start_key key = { t, t->functions.data[t->n_by_start].start };
		uint32_t hash = hash_seeded(seed, &key.start, sizeof(key.start)), older;
		int r;

		if (index_find(&t->by_start, hash, starts_at, &key, &older))
			index_remove(&t->by_start, hash, older);
		r = index_add(&t->by_start, hash, t->n_by_start);
		if (r < 0)
			return r;
	}
	return 0;
}

int jit_table_at(struct jit_table *t, uint64_t start, struct jit_function *out)
{
	const struct start_key key = { t, start };
	uint64_t seed = hash_seed();
	uint32_t id;

	if (index_starts(t, seed) < 0)
		return -ENOMEM;
	if (!index_find(&t->by_start, hash_seeded(seed, &start, sizeof(start)), starts_at, &key,
			&id))
		return -ENOENT;
	fill(t, id, out);
	return 0;
}

size_t jit_table_bytes(const struct jit_table *t)
{
	return strtab_bytes(t->names) + t->functions.cap * sizeof(struct function) +
	       t->segments.cap * sizeof(struct segment) +
	       t->by_start.n_slots * sizeof(struct index_slot);
}
