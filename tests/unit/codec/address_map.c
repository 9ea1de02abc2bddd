/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/gperftools/address_map.h"

#include "tests/test.h"

enum { NONE = 99 };

static void the_mapping_that_was_added_last_wins(void **state)
{
	struct address_map m = { 0 };

	(void)state;
	assert_int_equal(address_map_add(&m, 0x1000, 0x5000, 1), 0);
	assert_int_equal(address_map_add(&m, 0x2000, 0x3000, 2), 0);
	assert_int_equal(address_map_add(&m, 0x4000, 0x6000, 3), 0);
	assert_int_equal(address_map_build(&m, NONE), 0);
	assert_int_equal(address_map_find(&m, 0xfff, NONE), NONE);
	assert_int_equal(address_map_find(&m, 0x1000, NONE), 1);
	assert_int_equal(address_map_find(&m, 0x2fff, NONE), 2);
	assert_int_equal(address_map_find(&m, 0x3000, NONE), 1);
	assert_int_equal(address_map_find(&m, 0x4000, NONE), 3);
	assert_int_equal(address_map_find(&m, 0x6000, NONE), NONE);
	address_map_fini(&m);
}

static void an_empty_map_contains_nothing(void **state)
{
	struct address_map m = { 0 };

	(void)state;
	assert_int_equal(address_map_build(&m, NONE), 0);
	assert_int_equal(address_map_find(&m, 0, NONE), NONE);
	assert_int_equal(address_map_find(&m, UINT64_MAX, NONE), NONE);
	address_map_fini(&m);
}

/*
 * The first mapping contains all segments, and is laid out last: they must not be visited singly.
 */
static void many_overlapping_mappings_take_few_steps(void **state)
{
	enum { N = 30000 };
	struct address_map grow = { 0 }, shrink = { 0 };

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(address_map_add(&grow, 0x1000, 0x1000 * (i + 2), (uint32_t)i), 0);
		assert_int_equal(
			address_map_add(&shrink, 0x1000, 0x1000 * (N + 1 - i), (uint32_t)i), 0);
	}
	assert_int_equal(address_map_build(&grow, UINT32_MAX), 0);
	assert_int_equal(address_map_build(&shrink, UINT32_MAX), 0);
	/* N * N would be 900 million */
	assert_true(grow.n_steps < 40 * N);
	assert_true(shrink.n_steps < 40 * N);
	assert_int_equal(address_map_find(&grow, 0x1000, UINT32_MAX), N - 1);
	assert_int_equal(address_map_find(&shrink, 0x1000, UINT32_MAX), N - 1);
	assert_int_equal(address_map_find(&shrink, 0x1000ULL * N, UINT32_MAX), 0);
	address_map_fini(&grow);
	address_map_fini(&shrink);
}

TEST_GROUP(test_address_map, TEST(the_mapping_that_was_added_last_wins),
	   TEST(an_empty_map_contains_nothing), TEST(many_overlapping_mappings_take_few_steps))
