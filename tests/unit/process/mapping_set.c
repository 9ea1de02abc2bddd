/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mapping_set.h"

#include <stdlib.h>

#include "tests/test.h"

static struct unwind_mapping file_map(uint64_t start, uint64_t end, uint32_t file, uint64_t off)
{
	return (struct unwind_mapping){
		.start = start, .end = end, .file_off = off, .file = file, .kind = MAPPING_FILE
	};
}

static struct unwind_mapping anonymous(uint64_t start, uint64_t end)
{
	return (struct unwind_mapping){ .start = start, .end = end, .kind = MAPPING_ANONYMOUS };
}

static void add(struct mapping_set *m, struct unwind_mapping map)
{
	assert_int_equal(mapping_set_add(m, &map), 0);
}

static void a_mapping_in_the_middle_splits_the_old_one(void **state)
{
	struct mapping_set *m = mapping_set_new(NULL);

	add(m, file_map(0x1000, 0x9000, 1, 0));
	add(m, file_map(0x3000, 0x4000, 2, 0x500));
	assert_int_equal(mapping_set_count(m), 3);
	assert_int_equal(mapping_set_get(m, 0)->end, 0x3000);
	assert_int_equal(mapping_set_get(m, 1)->file, 2);
	assert_int_equal(mapping_set_get(m, 2)->start, 0x4000);
	assert_int_equal(mapping_set_get(m, 2)->file_off, 0x3000);
	mapping_set_unref(m, NULL, 0);
}

static void adjoining_generated_code_is_one_mapping(void **state)
{
	struct mapping_set *m = mapping_set_new(NULL);

	for (uint64_t i = 0; i < 1000; i++)
		add(m, anonymous(0x10000 + i * 0x1000, 0x11000 + i * 0x1000));
	assert_int_equal(mapping_set_count(m), 1);
	assert_int_equal(mapping_set_get(m, 0)->end, 0x10000 + 1000 * 0x1000);
	mapping_set_unref(m, NULL, 0);
}

static void changing_a_copy_does_not_change_the_shared_set(void **state)
{
	struct mapping_set *parent = mapping_set_new(NULL), *child;

	add(parent, file_map(0x1000, 0x2000, 1, 0));
	child = mapping_set_own(mapping_set_ref(parent), NULL, 0);
	assert_ptr_not_equal(child, parent);
	add(child, file_map(0x5000, 0x6000, 2, 0));
	assert_int_equal(mapping_set_count(parent), 1);
	assert_int_equal(mapping_set_count(child), 2);
	assert_ptr_equal(mapping_set_own(child, NULL, 0), child);
	mapping_set_unref(parent, NULL, 0);
	mapping_set_unref(child, NULL, 0);
}

/* Compares the set with a plain array of pages. */
static void agrees_with_a_page_array_under_random_changes(void **state)
{
	enum { PAGES = 64, STEPS = 3000 };
	uint32_t owner[PAGES] = { 0 };
	struct mapping_set *m = mapping_set_new(NULL);

	srandom(3);
	for (uint32_t step = 1; step <= STEPS; step++) {
		uint64_t a = (uint64_t)random() % PAGES, n = 1 + (uint64_t)random() % 9;
		uint64_t b = a + n < PAGES ? a + n : PAGES;

		add(m, file_map(a * 4096, b * 4096, step, a * 4096));
		for (uint64_t i = a; i < b; i++)
			owner[i] = step;
		for (uint32_t i = 0, at = 0; i < mapping_set_count(m); i++) {
			const struct unwind_mapping *x = mapping_set_get(m, i);

			assert_true(x->start >= at && x->end > x->start);
			assert_int_equal(x->file_off, x->start);
			for (uint64_t p = x->start / 4096; p < x->end / 4096; p++)
				assert_int_equal(owner[p], x->file);
			at = (uint32_t)x->end;
		}
	}
	mapping_set_unref(m, NULL, 0);
}

enum {
	HOARDERS = 64,
	HOARD = 60000,
	BUDGET = 2 << 20,
	SMALL_BYTES = HOARDERS * MAPPING_SET_SMALL * sizeof(struct unwind_mapping),
};

/* Adds @n mappings that cannot be merged. Returns how many found room. */
static uint32_t hoard(struct mapping_set *m, uint32_t n)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct unwind_mapping map = file_map(i * 0x2000, i * 0x2000 + 0x1000, 1, 0);

		added += mapping_set_add(m, &map) == 0;
	}
	return added;
}

static void however_many_sets_grow_others_find_room(void **state)
{
	struct mapping_budget budget = { .max_bytes = BUDGET };
	struct mapping_set *all[HOARDERS], *later, *child;

	for (int i = 0; i < HOARDERS; i++) {
		all[i] = mapping_set_new(&budget);
		assert_in_range(hoard(all[i], HOARD), MAPPING_SET_SMALL - 2, HOARD - 1);
		assert_true(budget.used_bytes <= BUDGET + SMALL_BYTES);
	}
	assert_true(budget.n_refused > 0);
	/* what is known of a set does not change if there is no room for more */
	assert_true(mapping_set_count(all[0]) > 4096);
	child = mapping_set_own(mapping_set_ref(all[0]), NULL, 0);
	assert_null(child);
	mapping_set_unref(all[0], NULL, 0);
	later = mapping_set_new(&budget);
	assert_int_equal(hoard(later, MAPPING_SET_SMALL - 2), MAPPING_SET_SMALL - 2);
	mapping_set_unref(later, NULL, 0);
	for (int i = 0; i < HOARDERS; i++)
		mapping_set_unref(all[i], NULL, 0);
	assert_int_equal(budget.used_bytes, 0);
	later = mapping_set_new(&budget);
	assert_true(hoard(later, HOARD) > 16384);
	mapping_set_unref(later, NULL, 0);
}

TEST_GROUP(test_mapping_set, TEST(however_many_sets_grow_others_find_room),
	   TEST(a_mapping_in_the_middle_splits_the_old_one),
	   TEST(adjoining_generated_code_is_one_mapping),
	   TEST(changing_a_copy_does_not_change_the_shared_set),
	   TEST(agrees_with_a_page_array_under_random_changes))
