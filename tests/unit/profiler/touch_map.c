/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/touch_map.h"

#include "tests/test.h"

static void holds_a_value_for_each_page(void **state)
{
	struct touch_map m = { 0 };

	assert_int_equal(touch_map_get(&m, 7), 0);
	for (uint64_t page = 0; page < 100000; page += 3)
		assert_int_equal(touch_map_set(&m, page << 20 | page, (uint32_t)page + 1), 0);
	for (uint64_t page = 0; page < 100000; page += 3) {
		assert_int_equal(touch_map_get(&m, page << 20 | page), page + 1);
		assert_int_equal(touch_map_get(&m, page << 20 | (page + 1)), 0);
	}
	touch_map_fini(&m);
}

static void dense_memory_costs_a_few_bytes_per_page(void **state)
{
	struct touch_map m = { 0 };
	enum { PAGES = 1 << 16 };

	for (uint64_t page = 0; page < PAGES; page++)
		touch_map_set(&m, page, 1);
	assert_true(touch_map_bytes(&m) <= 8 * PAGES);
	touch_map_fini(&m);
}

static void finds_the_nearest_page_of_a_block(void **state)
{
	const struct page_range all = { 0, UINT64_MAX };
	struct touch_map m = { 0 };

	touch_map_set(&m, 1024 + 3, 1);
	touch_map_set(&m, 1024 + 9, 2);
	assert_int_equal(touch_map_near(&m, 1024, all, 0), 1);
	assert_int_equal(touch_map_near(&m, 1024 + 6, all, 0), 1);
	assert_int_equal(touch_map_near(&m, 1024 + 7, all, 0), 2);
	assert_int_equal(touch_map_near(&m, 1024 + 15, all, 0), 2);
	assert_int_equal(touch_map_near(&m, 1024 + 6, (struct page_range){ 1024 + 4, 1040 }, 0), 2);
	assert_int_equal(touch_map_near(&m, 1024 + 6, (struct page_range){ 1024 + 4, 1033 }, 1), 0);
	/* other blocks, except within a huge page */
	assert_int_equal(touch_map_near(&m, 1024 + 16, all, 0), 0);
	assert_int_equal(touch_map_near(&m, 1024 + 511, all, 1), 1);
	assert_int_equal(touch_map_near(&m, 1024 - 1, all, 1), 0);
	assert_int_equal(touch_map_near(&m, 1024 + 512, all, 1), 0);
	touch_map_fini(&m);
}

TEST_GROUP(test_touch_map, TEST(holds_a_value_for_each_page),
	   TEST(dense_memory_costs_a_few_bytes_per_page), TEST(finds_the_nearest_page_of_a_block))
