/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/shared/abi.h"
#include "tests/test.h"

struct memory {
	uint32_t *chunks[4];
};

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct memory *m = ctx;

	m->chunks[n] = calloc(1, ARENA_CHUNK_BYTES);
	*out = m->chunks[n];
	return 0;
}

static void release_chunk(void *ctx, uint32_t n)
{
	struct memory *m = ctx;

	free(m->chunks[n]);
	m->chunks[n] = NULL;
}

static void memory_free(struct memory *m)
{
	for (int i = 0; i < 4; i++)
		free(m->chunks[i]);
}

static void ranges_do_not_overlap_and_keep_their_bytes(void **state)
{
	enum { N = 200 };
	struct memory mem = { { 0 } };
	struct unwind_arena *a;
	uint32_t unit[N], len[N], *data = malloc(ARENA_CHUNK_BYTES);

	srandom(2);
	assert_int_equal(unwind_arena_new(&a, 4, add_chunk, &mem), 0);
	for (uint32_t i = 0; i < N; i++) {
		len[i] = 1 + (uint32_t)random() % 4000;
		assert_int_equal(unwind_arena_alloc(a, len[i], i % 2, &unit[i]), 0);
		assert_int_equal(unit[i] % 8, 0);
		if (i % 2 == 0)
			assert_int_equal(unit[i] >> ARENA_CHUNK_SHIFT,
					 (unit[i] + len[i] - 1) >> ARENA_CHUNK_SHIFT);
		for (uint32_t k = 0; k < len[i]; k++)
			data[k] = i;
		unwind_arena_write(a, unit[i], data, (size_t)len[i] * 4);
	}
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = unit[i]; k < unit[i] + len[i]; k++)
			assert_int_equal(
				unwind_arena_chunk(a, k >> ARENA_CHUNK_SHIFT)[k & ARENA_CHUNK_MASK],
				i);
	unwind_arena_free(a);
	memory_free(&mem);
	free(data);
}

static void a_range_may_cross_chunks_only_on_request(void **state)
{
	struct memory mem = { { 0 } };
	struct unwind_arena *a;
	uint32_t first, unit;

	assert_int_equal(unwind_arena_new(&a, 4, add_chunk, &mem), 0);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS - 64, false, &first), 0);
	assert_int_equal(unwind_arena_alloc(a, 128, false, &unit), 0);
	assert_int_equal(unit, ARENA_CHUNK_UNITS);
	assert_int_equal(unwind_arena_alloc(a, 2 * ARENA_CHUNK_UNITS, true, &unit), 0);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS + 8, false, &unit), -EINVAL);
	unwind_arena_free(a);
	memory_free(&mem);
}

static void the_limit_holds_and_retired_ranges_come_back_after_the_grace_period(void **state)
{
	struct memory mem = { { 0 } };
	struct unwind_arena *a;
	uint32_t one, two, unit;

	assert_int_equal(unwind_arena_new(&a, 2, add_chunk, &mem), 0);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS, false, &one), 0);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS, false, &two), 0);
	assert_int_equal(unwind_arena_alloc(a, 8, false, &unit), -ENOSPC);
	unwind_arena_retire(a, one, ARENA_CHUNK_UNITS, 1000);
	unwind_arena_reap(a, 1000 + UNWIND_GRACE_NS - 1);
	assert_int_equal(unwind_arena_alloc(a, 8, false, &unit), -ENOSPC);
	unwind_arena_reap(a, 1000 + UNWIND_GRACE_NS);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS, false, &unit), 0);
	assert_int_equal(unit, one);
	assert_int_equal(unwind_arena_used_bytes(a), 2 * ARENA_CHUNK_BYTES);
	unwind_arena_free(a);
	memory_free(&mem);
}

static void freed_neighbours_are_merged(void **state)
{
	struct memory mem = { { 0 } };
	struct unwind_arena *a;
	uint32_t unit[4], whole;

	assert_int_equal(unwind_arena_new(&a, 1, add_chunk, &mem), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS / 4, false, &unit[i]), 0);
	unwind_arena_retire(a, unit[0], ARENA_CHUNK_UNITS / 4, 0);
	unwind_arena_retire(a, unit[2], ARENA_CHUNK_UNITS / 4, 0);
	unwind_arena_retire(a, unit[1], ARENA_CHUNK_UNITS / 4, 0);
	unwind_arena_retire(a, unit[3], ARENA_CHUNK_UNITS / 4, 0);
	unwind_arena_reap(a, UNWIND_GRACE_NS);
	assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS, false, &whole), 0);
	assert_int_equal(whole, 0);
	unwind_arena_free(a);
	memory_free(&mem);
}

static void empty_chunks_are_returned_and_added_again(void **state)
{
	struct memory mem = { { 0 } };
	uint32_t unit[4], again;
	struct unwind_arena *a;

	assert_int_equal(unwind_arena_new(&a, 4, add_chunk, &mem), 0);
	unwind_arena_set_release(a, release_chunk);
	for (int i = 0; i < 4; i++)
		assert_int_equal(unwind_arena_alloc(a, ARENA_CHUNK_UNITS, false, &unit[i]), 0);
	unwind_arena_retire(a, unit[1], ARENA_CHUNK_UNITS, 0);
	unwind_arena_retire(a, unit[2], ARENA_CHUNK_UNITS, 0);
	unwind_arena_reap(a, UNWIND_GRACE_NS);
	assert_int_equal(unwind_arena_bytes(a), 4 * ARENA_CHUNK_BYTES);
	unwind_arena_reap(a, UNWIND_GRACE_NS + 60000000000ULL);
	assert_int_equal(unwind_arena_bytes(a), 2 * ARENA_CHUNK_BYTES);
	assert_null(mem.chunks[1]);
	assert_null(unwind_arena_chunk(a, 2));
	assert_int_equal(unwind_arena_room_units(a), 2 * ARENA_CHUNK_UNITS);
	assert_int_equal(unwind_arena_alloc(a, 2 * ARENA_CHUNK_UNITS, true, &again), 0);
	assert_int_equal(again, unit[1]);
	assert_int_equal(unwind_arena_alloc(a, 8, false, &again), -ENOSPC);
	unwind_arena_free(a);
	memory_free(&mem);
}

static void a_chunk_that_is_used_again_stays(void **state)
{
	struct memory mem = { { 0 } };
	struct unwind_arena *a;
	uint32_t unit;

	assert_int_equal(unwind_arena_new(&a, 4, add_chunk, &mem), 0);
	unwind_arena_set_release(a, release_chunk);
	assert_int_equal(unwind_arena_alloc(a, 64, false, &unit), 0);
	unwind_arena_retire(a, unit, 64, 0);
	unwind_arena_reap(a, UNWIND_GRACE_NS);
	assert_int_equal(unwind_arena_alloc(a, 64, false, &unit), 0);
	unwind_arena_reap(a, 60000000000ULL);
	unwind_arena_reap(a, 120000000000ULL);
	assert_int_equal(unwind_arena_bytes(a), ARENA_CHUNK_BYTES);
	unwind_arena_free(a);
	memory_free(&mem);
}

TEST_GROUP(test_arena, TEST(ranges_do_not_overlap_and_keep_their_bytes),
	   TEST(a_range_may_cross_chunks_only_on_request),
	   TEST(the_limit_holds_and_retired_ranges_come_back_after_the_grace_period),
	   TEST(freed_neighbours_are_merged), TEST(empty_chunks_are_returned_and_added_again),
	   TEST(a_chunk_that_is_used_again_stays))
