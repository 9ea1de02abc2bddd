/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates by first fit from a sorted list of free extents. The list is short, because the tables
 * of whole files come and go in few large ranges. Retired ranges wait in a queue until their grace
 * period is over. The first fit also empties the chunks at the end, which are returned once nothing
 * has been in them for a while.
 */
#include "unwind/arena.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"

enum { ARENA_ALIGN = 8 };

/* A storm of programs would otherwise return a chunk and add it again all the time. */
#define EMPTY_NS 5000000000ULL

struct extent {
	uint32_t unit, n;
};

struct retired {
	struct extent e;
	uint64_t at_ns;
};

struct unwind_arena {
	uint32_t *chunks[ARENA_CHUNKS_MAX];  /* NULL: not added, or returned */
	uint64_t empty_ns[ARENA_CHUNKS_MAX]; /* time since which the chunk is empty; 0: it is not */
	uint32_t n_chunks, max_chunks;       /* existing chunks; their limit */
	unwind_chunk_fn add;
	unwind_chunk_release_fn release;
	void *ctx;
	uint64_t used;
	struct {
		VEC(struct extent);
	} free_list; /* sorted by unit; neighbours are merged, so none are adjacent */
	struct {
		VEC(struct retired);
	} retired; /* oldest first */
};

int unwind_arena_new(struct unwind_arena **out, uint32_t max_chunks, unwind_chunk_fn add, void *ctx)
{
	struct unwind_arena *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->max_chunks = max_chunks < ARENA_CHUNKS_MAX ? max_chunks : ARENA_CHUNKS_MAX;
	a->add = add;
	a->ctx = ctx;
	*out = a;
	return 0;
}

void unwind_arena_free(struct unwind_arena *a)
{
	if (!a)
		return;
	vec_fini(&a->free_list);
	vec_fini(&a->retired);
	free(a);
}

/*
 * Puts @e into the free list and merges it with its neighbours. If the list cannot grow, only
 * this range is lost.
 */
static void free_list_add(struct unwind_arena *a, struct extent e)
{
	struct extent *x = a->free_list.data;
	size_t i = 0, n = a->free_list.len;

	while (i < n && x[i].unit < e.unit)
		i++;
	if (i && x[i - 1].unit + x[i - 1].n == e.unit) {
		x[i - 1].n += e.n;
		if (i < n && x[i - 1].unit + x[i - 1].n == x[i].unit) {
			x[i - 1].n += x[i].n;
			memmove(x + i, x + i + 1, (n - i - 1) * sizeof(*x));
			a->free_list.len--;
		}
		return;
	}
	if (i < n && e.unit + e.n == x[i].unit) {
		x[i].unit = e.unit;
		x[i].n += e.n;
		return;
	}
	if (vec_reserve(&a->free_list, n + 1) < 0)
		return;
	x = a->free_list.data;
	memmove(x + i + 1, x + i, (n - i) * sizeof(*x));
	x[i] = e;
	a->free_list.len++;
}

/* Adds the first chunk that does not exist. */
static int arena_grow(struct unwind_arena *a)
{
	uint32_t n = 0;
	int r;

	while (n < a->max_chunks && a->chunks[n])
		n++;
	if (n == a->max_chunks)
		return -ENOSPC;
	r = a->add(a->ctx, n, &a->chunks[n]);
	if (r < 0)
		return r;
	free_list_add(a, (struct extent){ n << ARENA_CHUNK_SHIFT, ARENA_CHUNK_UNITS });
	a->empty_ns[n] = 0;
	a->n_chunks++;
	return 0;
}

/* The first unit in @e at which a range of @n may begin; UINT32_MAX if there is none. */
static uint32_t extent_fit(struct extent e, uint32_t n, bool straddle)
{
	uint32_t at = e.unit, in_chunk = at & ARENA_CHUNK_MASK;

	if (!straddle && in_chunk + n > ARENA_CHUNK_UNITS)
		at = (at | ARENA_CHUNK_MASK) + 1;
	return at - e.unit <= e.n && e.n - (at - e.unit) >= n ? at : UINT32_MAX;
}

static void free_list_take(struct unwind_arena *a, size_t i, uint32_t at, uint32_t n)
{
	struct extent e = a->free_list.data[i];
	struct extent before = { e.unit, at - e.unit };
	struct extent after = { at + n, e.unit + e.n - (at + n) };

	memmove(a->free_list.data + i, a->free_list.data + i + 1,
		(a->free_list.len - i - 1) * sizeof(e));
	a->free_list.len--;
	if (before.n)
		free_list_add(a, before);
	if (after.n)
		free_list_add(a, after);
}

int unwind_arena_alloc(struct unwind_arena *a, uint32_t n_units, bool straddle, uint32_t *out_unit)
{
	uint32_t n = (n_units + ARENA_ALIGN - 1) & ~(uint32_t)(ARENA_ALIGN - 1);
	int r;

	if (!n || n < n_units || (!straddle && n > ARENA_CHUNK_UNITS))
		return -EINVAL;
	/* each turn adds a chunk, so the loop ends at the limit */
	for (;;) {
		for (size_t i = 0; i < a->free_list.len; i++) {
			uint32_t at = extent_fit(a->free_list.data[i], n, straddle);

			if (at == UINT32_MAX)
				continue;
			free_list_take(a, i, at, n);
			a->used += n;
			*out_unit = at;
			return 0;
		}
		r = arena_grow(a);
		if (r < 0)
			return r;
	}
}

void unwind_arena_retire(struct unwind_arena *a, uint32_t unit, uint32_t n_units, uint64_t now_ns)
{
	uint32_t n = (n_units + ARENA_ALIGN - 1) & ~(uint32_t)(ARENA_ALIGN - 1);

	if (!n)
		return;
	a->used -= n;
	(void)vec_push(&a->retired, (struct retired){ { unit, n }, now_ns });
}

static void free_retired(struct unwind_arena *a, uint64_t now_ns)
{
	size_t i = 0;

	while (i < a->retired.len && now_ns - a->retired.data[i].at_ns >= UNWIND_GRACE_NS)
		free_list_add(a, a->retired.data[i++].e);
	if (!i)
		return;
	memmove(a->retired.data, a->retired.data + i,
		(a->retired.len - i) * sizeof(*a->retired.data));
	a->retired.len -= i;
}

/* Returns the index of the free extent that has all of chunk @n; the list's length if none has. */
static size_t find_empty(const struct unwind_arena *a, uint32_t n)
{
	uint32_t begin = n << ARENA_CHUNK_SHIFT;
	size_t i = 0;

	while (i < a->free_list.len) {
		struct extent e = a->free_list.data[i];

		if (e.unit <= begin && e.unit + e.n >= begin + ARENA_CHUNK_UNITS)
			break;
		i++;
	}
	return i;
}

static void return_chunk(struct unwind_arena *a, uint32_t n, size_t extent)
{
	/* one extent may become two: no list that cannot grow may lose the other chunks */
	if (vec_reserve(&a->free_list, a->free_list.len + 1) < 0)
		return;
	free_list_take(a, extent, n << ARENA_CHUNK_SHIFT, ARENA_CHUNK_UNITS);
	a->release(a->ctx, n);
	a->chunks[n] = NULL;
	a->n_chunks--;
}

static void return_empty(struct unwind_arena *a, uint64_t now_ns)
{
	for (uint32_t n = 0; n < a->max_chunks; n++) {
		size_t i = a->chunks[n] ? find_empty(a, n) : a->free_list.len;

		if (i == a->free_list.len)
			a->empty_ns[n] = 0;
		else if (!a->empty_ns[n])
			a->empty_ns[n] = now_ns;
		else if (now_ns - a->empty_ns[n] >= EMPTY_NS)
			return_chunk(a, n, i);
	}
}

void unwind_arena_reap(struct unwind_arena *a, uint64_t now_ns)
{
	free_retired(a, now_ns);
	if (a->release)
		return_empty(a, now_ns);
}

void unwind_arena_set_release(struct unwind_arena *a, unwind_chunk_release_fn release)
{
	a->release = release;
}

void unwind_arena_write(struct unwind_arena *a, uint32_t unit, const void *from, size_t bytes)
{
	const uint8_t *p = from;

	while (bytes) {
		uint32_t in_chunk = unit & ARENA_CHUNK_MASK;
		size_t room = (size_t)(ARENA_CHUNK_UNITS - in_chunk) * 4;
		size_t n = bytes < room ? bytes : room;

		memcpy(a->chunks[unit >> ARENA_CHUNK_SHIFT] + in_chunk, p, n);
		p += n;
		bytes -= n;
		unit += (uint32_t)(n / 4);
	}
}

uint32_t *unwind_arena_chunk(const struct unwind_arena *a, uint32_t n)
{
	return n < ARENA_CHUNKS_MAX ? a->chunks[n] : NULL;
}

uint64_t unwind_arena_room_units(const struct unwind_arena *a)
{
	uint64_t n = (uint64_t)(a->max_chunks - a->n_chunks) * ARENA_CHUNK_UNITS;

	for (size_t i = 0; i < a->free_list.len; i++)
		n += a->free_list.data[i].n;
	return n;
}

size_t unwind_arena_bytes(const struct unwind_arena *a)
{
	return (size_t)a->n_chunks * ARENA_CHUNK_BYTES;
}

size_t unwind_arena_used_bytes(const struct unwind_arena *a)
{
	return (size_t)a->used * 4;
}
