/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/test.h"
#include "unwind/rows.h"
#include "unwind/rules.h"

enum { PAGE = 1 << UNWIND_PAGE_SHIFT, NONE = 0 };

struct table {
	struct unwind_rows rows;
	struct unwind_pages pages;
	struct unwind_rules rules;
	struct unwind_rule array[64];
};

static void table_init(struct table *t, uint32_t rules_cap)
{
	assert_int_equal(unwind_rules_init(&t->rules, t->array, rules_cap), 0);
	t->rows.rules = &t->rules;
}

/* From @off on, the CFA is rsp + @cfa_off; with NONE it is unknown. */
static void add_row(struct table *t, uint64_t off, int cfa_off)
{
	struct unwind_rule rule = { 0 };

	if (cfa_off != NONE)
		rule = (struct unwind_rule){ .cfa = UNWIND_CFA_SP_OFF, .cfa_off = cfa_off };
	if (!t->rows.rules)
		table_init(t, 64);
	assert_int_equal(unwind_rows_put(&t->rows, 0, off, &rule), 0);
}

static int build(struct table *t, struct err *err)
{
	return unwind_pages_build(&t->pages, &t->rows, err);
}

static void table_fini(struct table *t)
{
	unwind_rows_fini(&t->rows);
	unwind_pages_fini(&t->pages);
	unwind_rules_fini(&t->rules);
}

static void assert_found(const struct table *t, uint64_t off, int cfa_off)
{
	uint16_t id = unwind_pages_find(&t->pages, off);

	assert_true(id < t->rules.n);
	assert_int_equal(t->array[id].cfa, cfa_off == NONE ? UNWIND_CFA_NONE : UNWIND_CFA_SP_OFF);
	assert_int_equal(t->array[id].cfa_off, cfa_off);
}

static uint32_t rows_of(const struct table *t, uint32_t page)
{
	return t->pages.start.data[page + 1] - t->pages.start.data[page];
}

static void finds_each_row_in_its_page(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	add_row(&t, 3 * PAGE + 100, 8);
	add_row(&t, 3 * PAGE + 104, 16);
	add_row(&t, 3 * PAGE + 200, NONE);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.pages.first_page, 3);
	assert_int_equal(t.pages.n_pages, 1);
	assert_found(&t, 3 * PAGE, NONE);
	assert_found(&t, 3 * PAGE + 99, NONE);
	assert_found(&t, 3 * PAGE + 100, 8);
	assert_found(&t, 3 * PAGE + 103, 8);
	assert_found(&t, 3 * PAGE + 199, 16);
	assert_found(&t, 3 * PAGE + 200, NONE);
	assert_found(&t, 2 * PAGE + 100, NONE);
	assert_found(&t, 4 * PAGE + 100, NONE);
}

static void carries_a_rule_over_page_starts(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	add_row(&t, 100, 8);
	add_row(&t, 3 * PAGE + 5, 16);
	add_row(&t, 5 * PAGE, NONE);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.pages.n_pages, 6);
	assert_int_equal(rows_of(&t, 1), 1);
	assert_int_equal(rows_of(&t, 3), 2);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(t.pages.rows.data[t.pages.start.data[i]].lo, 0);
	assert_found(&t, PAGE + 7, 8);
	assert_found(&t, 3 * PAGE + 4, 8);
	assert_found(&t, 4 * PAGE + 4, 16);
	assert_found(&t, 5 * PAGE, NONE);
}

static void begins_a_page_with_its_own_rule_when_one_starts_there(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	add_row(&t, 100, 8);
	add_row(&t, PAGE, 16);
	add_row(&t, 2 * PAGE - 1, NONE);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(rows_of(&t, 1), 2);
	assert_found(&t, PAGE - 1, 8);
	assert_found(&t, PAGE, 16);
}

static void has_no_rows_where_no_rule_is_known(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	add_row(&t, 100, 8);
	add_row(&t, 200, NONE);
	add_row(&t, 4 * PAGE + 8, 8);
	add_row(&t, 4 * PAGE + 80, NONE);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.pages.n_pages, 5);
	assert_int_equal(rows_of(&t, 2), 0);
	assert_found(&t, 2 * PAGE, NONE);
	assert_found(&t, 4 * PAGE, NONE);
	assert_found(&t, 4 * PAGE + 8, 8);
}

static void a_rule_continues_into_padding(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	add_row(&t, 0, 8);
	add_row(&t, 32 - UNWIND_PADDING_MAX, NONE);
	add_row(&t, 32, 8);
	add_row(&t, 64, NONE);
	add_row(&t, 64 + UNWIND_PADDING_MAX + 1, 8);
	add_row(&t, 128, NONE);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.pages.rows.len, 4);
	assert_found(&t, 31, 8);
	assert_found(&t, 64, NONE);
	assert_found(&t, 128, NONE);
}

static void drops_rules_that_the_dictionary_has_no_room_for(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	table_init(&t, 4);
	add_row(&t, 0, 8);
	add_row(&t, 100, 16);
	add_row(&t, 200, 8);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.rows.n_without_rule, 1);
	assert_found(&t, 50, 8);
	assert_found(&t, 150, NONE);
	assert_found(&t, 250, 8);
}

static void refuses_rows_that_lie_too_far_apart(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };
	struct err err = { 0 };

	add_row(&t, 0, 8);
	add_row(&t, (uint64_t)UNWIND_PAGES_MAX * PAGE, NONE);
	assert_int_equal(build(&t, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "pages"));
}

static void makes_no_page_without_rows(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };

	table_init(&t, 64);
	assert_int_equal(build(&t, NULL), 0);
	assert_int_equal(t.pages.n_pages, 0);
	assert_found(&t, 0, NONE);
}

/* Compares with a linear search of the rows. */
static void agrees_with_the_rows_everywhere(void **state)
{
	_cleanup_(table_fini) struct table t = { 0 };
	unsigned int seed = 7;
	uint64_t off = 12345;
	size_t at = 0;

	for (int i = 0; i < 2000; i++) {
		add_row(&t, off, (int)(rand_r(&seed) % 20) * 8);
		off += UNWIND_PADDING_MAX + 1 + rand_r(&seed) % (i % 50 ? 300 : 200000);
	}
	add_row(&t, off, NONE);
	assert_int_equal(build(&t, NULL), 0);
	for (uint64_t o = 12345; o < off; o += 7) {
		while (at < t.rows.len && t.rows.data[at].file_off <= o)
			at++;
		assert_found(&t, o, at ? unwind_rows_rule(&t.rows, at - 1)->cfa_off : NONE);
	}
}

TEST_GROUP(test_pages, TEST(finds_each_row_in_its_page), TEST(carries_a_rule_over_page_starts),
	   TEST(begins_a_page_with_its_own_rule_when_one_starts_there),
	   TEST(has_no_rows_where_no_rule_is_known), TEST(a_rule_continues_into_padding),
	   TEST(drops_rules_that_the_dictionary_has_no_room_for),
	   TEST(refuses_rows_that_lie_too_far_apart), TEST(makes_no_page_without_rows),
	   TEST(agrees_with_the_rows_everywhere))
