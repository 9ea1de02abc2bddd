/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/address_space.h"

#include <string.h>

#include "tests/test.h"

enum { READ = 0, WRITE = 1, ABSENT = 0, PRESENT = 1 };

static size_t total;

static uint32_t owner(const struct address_space *s, uint64_t page)
{
	const struct owned_page p = { page, { 0, UINT64_MAX }, false };
	bool is_near;

	return address_space_owner(s, &p, &is_near);
}

static uint64_t now_ns;

static void touch(struct address_space *s, uint64_t page, uint32_t toucher, bool was_present,
		  bool is_write)
{
	const struct page_touch t = { page, ++now_ns, toucher, was_present, is_write };

	assert_int_equal(address_space_touch(s, &t), 0);
}

static void the_latest_fault_of_an_absent_page_counts(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);

	assert_int_equal(owner(s, 100), ADDRESS_SPACE_UNSEEN);
	touch(s, 100, 1, ABSENT, WRITE);
	assert_int_equal(owner(s, 100), 1);
	touch(s, 100, 2, ABSENT, READ); /* it was dropped meanwhile */
	assert_int_equal(owner(s, 100), 2);
	address_space_put(s);
	assert_int_equal(total, 0);
}

static void the_first_write_counts_among_faults_of_a_present_page(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);

	touch(s, 5, 1, ABSENT, READ);
	touch(s, 5, 2, PRESENT, WRITE); /* of the zero page, or a file's */
	assert_int_equal(owner(s, 5), 2);
	touch(s, 5, 3, PRESENT, WRITE); /* shared since a fork */
	touch(s, 5, 4, PRESENT, READ);
	assert_int_equal(owner(s, 5), 2);
	address_space_put(s);
}

static void pages_that_were_present_stay_so_until_they_are_dropped(void **state)
{
	struct address_space *s = address_space_new(NULL, &total);
	struct owned_page neighbour = { 5004, { 0, UINT64_MAX }, false };
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
	touch(s, 5003, 1, PRESENT, WRITE);
	assert_int_equal(owner(s, 5003), ADDRESS_SPACE_BEFORE);
	touch(s, 5003, 1, ABSENT, WRITE);
	assert_int_equal(owner(s, 5003), 1);
	assert_int_equal(address_space_owner(s, &neighbour, &is_near), 1);
	assert_true(is_near);
	neighbour.page = 5003;
	assert_int_equal(address_space_owner(s, &neighbour, &is_near), 1);
	assert_false(is_near);
	address_space_put(s);
	assert_int_equal(total, 0);
}

static void a_child_inherits_what_its_parent_touched(void **state)
{
	struct address_space *parent = address_space_new(NULL, &total), *child;

	touch(parent, 1, 10, ABSENT, WRITE);
	address_space_add_present(parent, 64, 65);
	child = address_space_new(parent, &total);
	address_space_put(parent);            /* the parent has ended */
	touch(child, 1, 20, PRESENT, WRITE);  /* copied on write */
	touch(child, 64, 20, PRESENT, WRITE); /* copied on write */
	touch(child, 200, 20, ABSENT, WRITE);
	assert_int_equal(owner(child, 1), 10);
	assert_int_equal(owner(child, 64), ADDRESS_SPACE_BEFORE);
	assert_int_equal(owner(child, 200), 20);
	address_space_put(child);
	assert_int_equal(total, 0);
}

static void a_new_mapping_begins_with_nothing(void **state)
{
	struct address_space *parent = address_space_new(NULL, &total), *s;
	const struct page_touch late = { 150, now_ns, 9, ABSENT, WRITE };

	touch(parent, 105, 1, ABSENT, WRITE);
	address_space_add_present(parent, 110, 112);
	s = address_space_new(parent, &total);
	touch(s, 100, 2, ABSENT, WRITE);
	touch(s, 205, 3, ABSENT, WRITE);
	assert_int_equal(address_space_map(s, 100, 200, ++now_ns), 0);
	assert_int_equal(owner(s, 105), ADDRESS_SPACE_UNSEEN);
	address_space_set_mapper(s, 100, now_ns, 4);
	assert_int_equal(owner(s, 100), 4);
	assert_int_equal(owner(s, 105), 4);
	assert_int_equal(owner(s, 111), 4);
	assert_int_equal(owner(s, 205), 3);
	touch(s, 150, 5, ABSENT, WRITE);
	assert_int_equal(address_space_touch(s, &late), 0); /* a record that comes late */
	assert_int_equal(owner(s, 150), 5);
	assert_int_equal(owner(parent, 105), 1);
	address_space_put(s);
	address_space_put(parent);
	assert_int_equal(total, 0);
}

static void mappings_replace_one_another(void **state)
{
	enum { PAGES = 1000, TURNS = 3000 };
	struct address_space *s = address_space_new(NULL, &total);
	static uint32_t truth[PAGES];
	uint32_t random = 1;

	memset(truth, 0, sizeof(truth));
	for (uint32_t i = 1; i <= TURNS; i++) {
		uint32_t start, len;

		random = random * 1103515245 + 12345;
		start = (random >> 8) % (PAGES - 100);
		len = 1 + (random >> 20) % 100;
		assert_int_equal(address_space_map(s, start, start + len, ++now_ns), 0);
		address_space_set_mapper(s, start, now_ns, i);
		for (uint32_t k = 0; k < len; k++)
			truth[start + k] = i;
		for (size_t k = 1; k < s->areas.len; k++)
			assert_true(s->areas.data[k - 1].end <= s->areas.data[k].start);
	}
	for (uint64_t page = 0; page < PAGES; page++)
		assert_int_equal(owner(s, page), truth[page]);
	/* an area of a terabyte */
	assert_int_equal(address_space_map(s, 0, 1ULL << 28, ++now_ns), 0);
	assert_int_equal(s->areas.len, 1);
	assert_int_equal(owner(s, 5), ADDRESS_SPACE_UNSEEN);
	address_space_put(s);
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

	touch(s, 1, 10, ABSENT, WRITE);
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

TEST_GROUP(test_address_space, TEST(the_latest_fault_of_an_absent_page_counts),
	   TEST(the_first_write_counts_among_faults_of_a_present_page),
	   TEST(pages_that_were_present_stay_so_until_they_are_dropped),
	   TEST(a_child_inherits_what_its_parent_touched), TEST(a_new_mapping_begins_with_nothing),
	   TEST(mappings_replace_one_another), TEST(a_space_is_whole_if_all_of_its_bases_are),
	   TEST(a_chain_of_forks_ends))
