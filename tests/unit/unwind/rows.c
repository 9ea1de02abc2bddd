/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rows.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/test.h"

/* A rule that is distinguished from others by its offset. */
static void put(struct unwind_rows *rows, uint64_t off, int cfa_off)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = cfa_off };

	if (!cfa_off)
		rule.cfa = UNWIND_CFA_NONE;
	assert_int_equal(unwind_rows_put(rows, 0, off, &rule), 0);
}

static int at(const struct unwind_rows *rows, uint64_t off)
{
	return rows->rules->array[unwind_rows_at(rows, off)].cfa_off;
}

static void equal_neighbours_are_one_row(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };

	put(&rows, 5, 0);
	put(&rows, 10, 8);
	put(&rows, 20, 8);
	put(&rows, 30, 16);
	put(&rows, 30, 8);
	assert_int_equal(rows.len, 1);
	assert_int_equal(at(&rows, 9), 0);
	assert_int_equal(at(&rows, 10), 8);
	assert_int_equal(at(&rows, 1000), 8);
}

static void an_earlier_row_replaces_later_ones_of_its_own_list_only(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 24 };

	put(&rows, 10, 8);
	put(&rows, 20, 16);
	assert_int_equal(unwind_rows_put(&rows, 1, 5, &rule), 0);
	assert_int_equal(rows.len, 2);
	assert_int_equal(rows.data[0].file_off, 10);
	assert_int_equal(rows.data[1].file_off, 5);
}

static void a_splice_preserves_the_rule_after_it(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(unwind_rows_fini) struct unwind_rows with = { 0 };

	put(&rows, 10, 8);
	put(&rows, 20, 16);
	put(&rows, 30, 24);
	put(&rows, 40, 0);
	with.rules = rows.rules;
	put(&with, 15, 32);
	put(&with, 25, 0);
	assert_int_equal(unwind_rows_splice(&rows, 15, 35, with.data, with.len), 0);
	assert_int_equal(at(&rows, 14), 8);
	assert_int_equal(at(&rows, 15), 32);
	assert_int_equal(at(&rows, 25), 0);
	assert_int_equal(at(&rows, 34), 0);
	assert_int_equal(at(&rows, 35), 24);
	assert_int_equal(at(&rows, 40), 0);
}

static void an_overlay_wins_where_it_has_rules(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(unwind_rows_fini) struct unwind_rows over = { 0 };

	put(&rows, 10, 8);
	put(&rows, 30, 0);
	over.rules = rows.rules;
	put(&over, 0, 16);
	put(&over, 5, 0);
	put(&over, 20, 24);
	put(&over, 25, 0);
	put(&over, 28, 32);
	assert_int_equal(unwind_rows_overlay(&rows, &over), 0);
	assert_int_equal(at(&rows, 4), 16);
	assert_int_equal(at(&rows, 5), 0);
	assert_int_equal(at(&rows, 10), 8);
	assert_int_equal(at(&rows, 20), 24);
	assert_int_equal(at(&rows, 25), 8);
	assert_int_equal(at(&rows, 31), 32);
}

static void refuses_offsets_that_a_row_cannot_hold(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 24 };

	assert_int_equal(unwind_rows_put(&rows, 0, UNWIND_ROWS_OFF_MAX, &rule), 0);
	rule.cfa_off = 8;
	assert_int_equal(unwind_rows_put(&rows, 0, UNWIND_ROWS_OFF_MAX + 1, &rule), -E2BIG);
}

TEST_GROUP(test_rows, TEST(equal_neighbours_are_one_row),
	   TEST(an_earlier_row_replaces_later_ones_of_its_own_list_only),
	   TEST(a_splice_preserves_the_rule_after_it), TEST(an_overlay_wins_where_it_has_rules),
	   TEST(refuses_offsets_that_a_row_cannot_hold))
