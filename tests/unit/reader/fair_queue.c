/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/fair_queue.h"

#include "tests/test.h"

enum { ALICE = 1000, BOB, MS = 1000000 };

static void put(struct fair_queue *q, uint32_t file, uint32_t owner)
{
	const struct fair_request r = { .file = file, .owner = owner };

	assert_int_equal(fair_queue_put(q, &r), 0);
}

/* Starts the request that is next. Returns its file, 0 if there is none. */
static uint32_t next(struct fair_queue *q)
{
	uint32_t file;
	size_t i;

	if (!fair_queue_next(q, 1, &i))
		return 0;
	file = q->waiting.data[i].file;
	fair_queue_begin(q, i);
	return file;
}

static void the_oldest_request_of_an_owner_is_next(void **state)
{
	struct fair_queue q = { 0 };

	for (uint32_t file = 1; file <= 3; file++)
		put(&q, file, 0);
	assert_int_equal(fair_queue_find(&q, 2)->file, 2);
	for (uint32_t file = 1; file <= 3; file++)
		assert_int_equal(next(&q), file);
	assert_null(fair_queue_find(&q, 2));
	assert_int_equal(next(&q), 0);
	fair_queue_fini(&q);
}

static void the_owner_who_took_most_time_comes_last(void **state)
{
	struct fair_queue q = { 0 };

	for (uint32_t file = 1; file <= 100; file++)
		put(&q, file, ALICE);
	assert_int_equal(next(&q), 1);
	fair_queue_end(&q, ALICE, 500 * MS, 1);
	put(&q, 101, BOB);
	put(&q, 102, 0);
	assert_int_equal(next(&q), 101);
	assert_int_equal(next(&q), 102);
	assert_int_equal(next(&q), 2);
	fair_queue_fini(&q);
}

static void an_owner_does_not_occupy_all_readers(void **state)
{
	struct fair_queue q = { 0 };

	put(&q, 1, ALICE);
	put(&q, 2, ALICE);
	assert_int_equal(next(&q), 1);
	assert_int_equal(next(&q), 0);
	put(&q, 3, 0);
	put(&q, 4, 0);
	assert_int_equal(next(&q), 3);
	assert_int_equal(next(&q), 4);
	fair_queue_end(&q, ALICE, MS, 1);
	assert_int_equal(next(&q), 2);
	fair_queue_fini(&q);
}

static void what_was_spent_is_forgotten(void **state)
{
	struct fair_queue q = { 0 };

	put(&q, 1, ALICE);
	put(&q, 2, BOB);
	for (int i = 0; i < 2; i++)
		assert_true(next(&q));
	fair_queue_end(&q, BOB, MS, 1);
	for (uint64_t i = 1; i < 20; i++) {
		fair_queue_end(&q, ALICE, i == 1 ? 1000 * MS : 0, i * FAIR_QUEUE_HALF_NS);
		put(&q, 1, ALICE);
		assert_int_equal(next(&q), 1);
	}
	assert_int_equal(q.owners.len, 1);
	assert_int_equal(q.owners.data[0].spent_ns, 0);
	fair_queue_fini(&q);
}

TEST_GROUP(test_fair_queue, TEST(the_oldest_request_of_an_owner_is_next),
	   TEST(the_owner_who_took_most_time_comes_last),
	   TEST(an_owner_does_not_occupy_all_readers), TEST(what_was_spent_is_forgotten))
