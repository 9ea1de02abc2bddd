/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap_claim.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "tests/short_heap.h"
#include "tests/test.h"

enum { STEP = 64 << 10, LARGE = HEAP_CLAIM_LARGE, EDGES = 64 << 10 /* in parts of pages */ };

/* Room that is used up: what is reserved now, and the most that was. */
struct room {
	size_t limit, reserved, most;
};

static bool reserve(void *ctx, size_t bytes)
{
	struct room *r = ctx;

	if (bytes > r->limit - r->reserved)
		return false;
	r->reserved += bytes;
	r->most = r->reserved > r->most ? r->reserved : r->most;
	return true;
}

static void release(void *ctx, size_t bytes)
{
	struct room *r = ctx;

	assert_true(bytes <= r->reserved);
	r->reserved -= bytes;
}

static struct heap_claim claim_of(struct room *r)
{
	return (struct heap_claim){
		.reserve = reserve, .release = release, .ctx = r, .step = STEP, .covered = STEP
	};
}

static void small_blocks_reserve_a_step_at_a_time(void **state)
{
	struct room room = { .limit = 2 * STEP };
	struct heap_claim c = claim_of(&room);
	void *all[256];

	heap_claim_begin(&c);
	for (size_t i = 0; i < 256; i++)
		all[i] = malloc(1024);
	assert_int_equal(room.reserved, STEP);
	assert_int_equal(room.most, 2 * STEP);
	for (size_t i = 0; i < 256; i++)
		free(all[i]);
	for (size_t i = 0; i < 10000; i++) /* what is freed is there for others */
		free(strdup("one text"));
	heap_claim_end(&c);
	assert_int_equal(room.reserved, 0);
	assert_false(c.failed);
}

static void large_blocks_are_reserved_until_they_are_freed(void **state)
{
	struct room room = { .limit = 8 * LARGE };
	struct heap_claim c = claim_of(&room);
	void *a, *b;

	heap_claim_begin(&c);
	a = malloc(4 * LARGE);
	b = calloc(LARGE, 4);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(room.reserved, 8 * LARGE);
	errno = 0;
	assert_null(malloc(LARGE));
	assert_int_equal(errno, ENOMEM);
	assert_true(c.failed);
	free(a);
	assert_int_equal(room.reserved, 4 * LARGE);
	heap_claim_end(&c);
	assert_int_equal(room.reserved, 0);
	free(b);
}

/* A block of the heap may be there twice while it moves. */
static void a_block_that_grows_is_reserved_again(void **state)
{
	struct room room = { .limit = 4 * LARGE + EDGES };
	struct heap_claim c = claim_of(&room);
	char *p, *more;

	heap_claim_begin(&c);
	p = malloc(2 * LARGE);
	assert_non_null(p);
	memset(p, 1, 2 * LARGE);
	more = realloc(p, 4 * LARGE); /* what is written to needs no reservation */
	assert_non_null(more);
	assert_int_equal(more[2 * LARGE - 1], 1);
	assert_in_range(room.reserved, 4 * LARGE, 4 * LARGE + EDGES);
	assert_null(malloc(LARGE + LARGE + LARGE));
	assert_true(c.failed);
	free(more);
	heap_claim_end(&c);
	assert_int_equal(room.reserved, 0);
}

/* The pages of a larger block are moved, so only what it grows by is reserved. */
static void a_mapped_block_reserves_what_it_grows_by(void **state)
{
	struct room room = { .limit = HEAP_CLAIM_MAPPED + 4 * LARGE };
	struct heap_claim c = claim_of(&room);
	void *p, *more;

	heap_claim_begin(&c);
	p = malloc(HEAP_CLAIM_MAPPED);
	assert_non_null(p);
	more = realloc(p, HEAP_CLAIM_MAPPED + 2 * LARGE);
	assert_non_null(more);
	assert_in_range(room.reserved, HEAP_CLAIM_MAPPED, HEAP_CLAIM_MAPPED + 2 * LARGE);
	free(more);
	heap_claim_end(&c);
	assert_int_equal(room.reserved, 0);
}

static void more_blocks_than_are_tracked_stay_reserved(void **state)
{
	enum { N = HEAP_CLAIM_MAX_LARGE + 2 };
	struct room room = { .limit = SIZE_MAX };
	struct heap_claim c = claim_of(&room);
	void *all[N];

	heap_claim_begin(&c);
	for (size_t i = 0; i < N; i++)
		all[i] = malloc(LARGE);
	for (size_t i = 0; i < N; i++)
		free(all[i]);
	assert_int_equal(room.reserved, 2 * LARGE);
	heap_claim_end(&c);
	assert_int_equal(room.reserved, 0);
}

/* A message about the failure can still be made, but not much more. */
static void little_can_be_allocated_after_a_failure(void **state)
{
	struct room room = { 0 };
	struct heap_claim c = claim_of(&room);
	size_t bytes = 0;
	void *all[2000], *p;
	size_t n = 0;

	heap_claim_begin(&c);
	assert_null(malloc(LARGE));
	while (n < 2000 && (p = malloc(100))) {
		all[n++] = p;
		bytes += 100;
	}
	heap_claim_end(&c);
	assert_in_range(bytes, 4096, 128 << 10);
	while (n)
		free(all[--n]);
}

static int fill_containers(void *ctx)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct {
		VEC(int);
	} v = { 0 };
	char *copy = strndup("some text", 4);
	int r = copy ? 0 : -ENOMEM;

	free(copy);
	for (int i = 0; r == 0 && i < 1000; i++)
		r = vec_push(&v, i);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d", i);
	vec_fini(&v);
	return r == 0 ? buf_error(&b) : r;
}

static void each_container_notices(void **state)
{
	size_t n = 0;
	int r;

	while ((r = short_heap_run(n, fill_containers, NULL)) == -ENOMEM)
		n++;
	assert_int_equal(r, 0);
	assert_true(n > 10);
}

TEST_GROUP(test_heap_claim, TEST(small_blocks_reserve_a_step_at_a_time),
	   TEST(large_blocks_are_reserved_until_they_are_freed),
	   TEST(a_block_that_grows_is_reserved_again),
	   TEST(a_mapped_block_reserves_what_it_grows_by),
	   TEST(more_blocks_than_are_tracked_stay_reserved),
	   TEST(little_can_be_allocated_after_a_failure), TEST(each_container_notices))
