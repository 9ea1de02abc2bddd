/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/touch_map.h"

#include "profiler/address_space.h"
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
	struct touch_map m = { 0 };

	touch_map_set(&m, 1024 + 3, 1);
	touch_map_set(&m, 1024 + 9, 2);
	assert_int_equal(touch_map_near(&m, 1024, 0), 1);
	assert_int_equal(touch_map_near(&m, 1024 + 6, 0), 1);
	assert_int_equal(touch_map_near(&m, 1024 + 7, 0), 2);
	assert_int_equal(touch_map_near(&m, 1024 + 15, 0), 2);
	/* other blocks, except within a huge page */
	assert_int_equal(touch_map_near(&m, 1024 + 16, 0), 0);
	assert_int_equal(touch_map_near(&m, 1024 + 511, 1), 1);
	assert_int_equal(touch_map_near(&m, 1024 - 1, 1), 0);
	assert_int_equal(touch_map_near(&m, 1024 + 512, 1), 0);
	touch_map_fini(&m);
}

/* ---- address spaces ----------------------------------------------------------------- */

enum { READ = 0, WRITE = 1, ABSENT = 0, PRESENT = 1 };

static size_t total;

static uint32_t owner(const struct address_space *s, uint64_t page)
{
	bool is_near;

	return address_space_owner(s, page, false, &is_near);
}

static void the_latest_fault_of_an_absent_page_counts(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);

	assert_int_equal(owner(s, 100), ADDRESS_SPACE_UNSEEN);
	address_space_touch(s, 100, 1, ABSENT, WRITE);
	assert_int_equal(owner(s, 100), 1);
	address_space_touch(s, 100, 2, ABSENT, READ); /* it was dropped meanwhile */
	assert_int_equal(owner(s, 100), 2);
	address_space_put(s);
	assert_int_equal(total, 0);
}

static void the_first_write_counts_among_faults_of_a_present_page(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);

	address_space_touch(s, 5, 1, ABSENT, READ);
	address_space_touch(s, 5, 2, PRESENT, WRITE); /* of the zero page, or a file's */
	assert_int_equal(owner(s, 5), 2);
	address_space_touch(s, 5, 3, PRESENT, WRITE); /* shared since a fork */
	address_space_touch(s, 5, 4, PRESENT, READ);
	assert_int_equal(owner(s, 5), 2);
	address_space_put(s);
}

static void pages_that_were_present_stay_so_until_they_are_dropped(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);
	bool is_near;

	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(address_space_add_present(s, 10 * i, 10 * i + 4), 0);
	assert_int_equal(address_space_add_present(s, 9994, 9996), 0);
	assert_int_equal(s->present.len, 1000);
	assert_int_equal(owner(s, 0), ADDRESS_SPACE_BEFORE);
	assert_int_equal(owner(s, 5003), ADDRESS_SPACE_BEFORE);
	assert_int_equal(owner(s, 5004), ADDRESS_SPACE_UNSEEN);
	assert_int_equal(owner(s, 9995), ADDRESS_SPACE_BEFORE);
	assert_int_equal(owner(s, 9996), ADDRESS_SPACE_UNSEEN);
	address_space_touch(s, 5003, 1, PRESENT, WRITE);
	assert_int_equal(owner(s, 5003), ADDRESS_SPACE_BEFORE);
	address_space_touch(s, 5003, 1, ABSENT, WRITE);
	assert_int_equal(owner(s, 5003), 1);
	assert_int_equal(address_space_owner(s, 5004, false, &is_near), 1);
	assert_true(is_near);
	assert_int_equal(address_space_owner(s, 5003, false, &is_near), 1);
	assert_false(is_near);
	address_space_put(s);
	assert_int_equal(total, 0);
}

static void a_child_inherits_what_its_parent_touched(void **state)
{
	struct address_space *parent = address_space_new(NULL, &total), *child;

	address_space_touch(parent, 1, 10, ABSENT, WRITE);
	address_space_add_present(parent, 64, 65);
	child = address_space_new(parent, &total);
	address_space_put(parent);                          /* the parent has ended */
	address_space_touch(child, 1, 20, PRESENT, WRITE);  /* copied on write */
	address_space_touch(child, 64, 20, PRESENT, WRITE); /* copied on write */
	address_space_touch(child, 200, 20, ABSENT, WRITE);
	assert_int_equal(owner(child, 1), 10);
	assert_int_equal(owner(child, 64), ADDRESS_SPACE_BEFORE);
	assert_int_equal(owner(child, 200), 20);
	address_space_put(child);
	assert_int_equal(total, 0);
}

static void a_space_is_whole_if_all_of_its_bases_are(void **state)
{
	struct address_space *parent = address_space_new(NULL, &total);
	struct address_space *child = address_space_new(parent, &total);

	child->has_snapshot = true;
	assert_false(address_space_is_whole(child));
	parent->has_snapshot = true;
	assert_true(address_space_is_whole(child));
	address_space_put(parent);
	address_space_put(child);
}

static void a_chain_of_forks_ends(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);

	address_space_touch(s, 1, 10, ABSENT, WRITE);
	for (int i = 0; i < 2 * ADDRESS_SPACE_DEPTH_MAX; i++) {
		struct address_space *child = address_space_new(s, &total);

		assert_true(child->depth <= ADDRESS_SPACE_DEPTH_MAX);
		assert_int_equal(owner(child, 1), i < ADDRESS_SPACE_DEPTH_MAX ? 10 : 0);
		address_space_put(s);
		s = child;
	}
	address_space_put(s);
	assert_int_equal(total, 0);
}

TEST_GROUP(test_touch_map, TEST(holds_a_value_for_each_page),
	   TEST(dense_memory_costs_a_few_bytes_per_page), TEST(finds_the_nearest_page_of_a_block),
	   TEST(the_latest_fault_of_an_absent_page_counts),
	   TEST(the_first_write_counts_among_faults_of_a_present_page),
	   TEST(pages_that_were_present_stay_so_until_they_are_dropped),
	   TEST(a_child_inherits_what_its_parent_touched),
	   TEST(a_space_is_whole_if_all_of_its_bases_are), TEST(a_chain_of_forks_ends))
