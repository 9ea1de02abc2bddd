/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/intervals.h"

#include <stdlib.h>

#include "tests/test.h"

/* The innermost of nested intervals is the shortest one that contains the address. */
static uint32_t plainly(const struct interval_list *l, uint64_t addr)
{
	uint64_t best_len = UINT64_MAX;
	uint32_t best = INTERVAL_NONE;

	for (size_t i = 0; i < l->len; i++) {
		const struct interval *iv = &l->data[i];

		if (addr < iv->lo || addr >= iv->hi)
			continue;
		if (iv->hi - iv->lo < best_len || (iv->hi - iv->lo == best_len && iv->id > best)) {
			best_len = iv->hi - iv->lo;
			best = iv->id;
		}
	}
	return best;
}

static void nest(struct interval_list *l, uint64_t lo, uint64_t hi, int depth)
{
	assert_int_equal(vec_push(l, (struct interval){ lo, hi, (uint32_t)l->len }), 0);
	while (depth && hi - lo > 4) {
		uint64_t a = lo + (uint64_t)random() % (hi - lo);
		uint64_t b = a + (uint64_t)random() % (hi - a + 1);

		nest(l, a, b, depth - 1);
		lo = b;
	}
}

static void finds_the_same_interval_as_a_linear_search(void **state)
{
	srandom(1);
	for (int round = 0; round < 50; round++) {
		struct interval_list l = { 0 };
		struct interval_table t;

		for (uint64_t lo = 1000; lo < 3000; lo += 500)
			nest(&l, lo, lo + 300, 3);
		assert_int_equal(interval_table_build(&t, &l), 0);
		for (uint64_t addr = 990; addr < 3500; addr++)
			assert_int_equal(interval_table_find(&t, addr), plainly(&l, addr));
		interval_table_fini(&t);
		vec_fini(&l);
	}
}

static void an_empty_table_contains_no_interval(void **state)
{
	struct interval_list l = { 0 };
	struct interval_table t;

	assert_int_equal(interval_table_build(&t, &l), 0);
	assert_int_equal(interval_table_find(&t, 0), INTERVAL_NONE);
	interval_table_fini(&t);
}

static void tolerates_overlapping_and_empty_intervals(void **state)
{
	struct interval_list l = { 0 };
	struct interval_table t;

	vec_push(&l, (struct interval){ 10, 20, 0 });
	vec_push(&l, (struct interval){ 15, 30, 1 });
	vec_push(&l, (struct interval){ 40, 40, 2 });
	vec_push(&l, (struct interval){ 60, 50, 3 });
	vec_push(&l, (struct interval){ 10 + (5ULL << 32), 20 + (5ULL << 32), 4 });
	assert_int_equal(interval_table_build(&t, &l), 0);
	assert_int_equal(interval_table_find(&t, 12), 0);
	assert_int_equal(interval_table_find(&t, 18), 1);
	assert_int_equal(interval_table_find(&t, 25), 1);
	assert_int_equal(interval_table_find(&t, 30), INTERVAL_NONE);
	assert_int_equal(interval_table_find(&t, 40), INTERVAL_NONE);
	assert_int_equal(interval_table_find(&t, 12 + (5ULL << 32)), INTERVAL_NONE);
	interval_table_fini(&t);
	vec_fini(&l);
}

TEST_GROUP(test_intervals, TEST(finds_the_same_interval_as_a_linear_search),
	   TEST(an_empty_table_contains_no_interval),
	   TEST(tolerates_overlapping_and_empty_intervals))
