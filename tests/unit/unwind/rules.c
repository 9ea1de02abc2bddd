/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rules.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/test.h"

static void begins_with_the_fixed_ids(void **state)
{
	_cleanup_(unwind_rules_fini) struct unwind_rules d = { 0 };
	struct unwind_rule array[8];

	assert_int_equal(unwind_rules_init(&d, array, 8), 0);
	assert_int_equal(d.n, 3);
	assert_int_equal(array[UNWIND_RULE_NONE].cfa, UNWIND_CFA_NONE);
	assert_int_equal(array[UNWIND_RULE_END].cfa, UNWIND_CFA_END);
	assert_int_equal(array[UNWIND_RULE_FP].cfa, UNWIND_CFA_FP);
}

static void equal_rules_have_one_id(void **state)
{
	static struct unwind_rule array[UNWIND_RULES_MAX];
	_cleanup_(unwind_rules_fini) struct unwind_rules d = { 0 };
	uint16_t id;

	assert_int_equal(unwind_rules_init(&d, array, UNWIND_RULES_MAX), 0);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < 5000; i++) {
			struct unwind_rule r = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = i * 8 };

			assert_int_equal(unwind_rules_add(&d, &r, &id), 0);
			assert_int_equal(id, 3 + i);
			assert_memory_equal(&array[id], &r, sizeof(r));
		}
	}
	assert_int_equal(d.n, 5003);
}

static void reports_that_it_is_full(void **state)
{
	_cleanup_(unwind_rules_fini) struct unwind_rules d = { 0 };
	struct unwind_rule array[4], r = { .cfa = UNWIND_CFA_SP_OFF };
	uint16_t id = 99;

	assert_int_equal(unwind_rules_init(&d, array, 4), 0);
	assert_int_equal(unwind_rules_add(&d, &r, &id), 0);
	assert_int_equal(id, 3);
	r.cfa_off = 8;
	assert_int_equal(unwind_rules_add(&d, &r, &id), -ENOSPC);
	r.cfa_off = 0;
	assert_int_equal(unwind_rules_add(&d, &r, &id), 0);
	assert_int_equal(id, 3);
}

static void rules_that_no_row_has_are_freed_by_the_second_sweep(void **state)
{
	_cleanup_(unwind_rules_fini) struct unwind_rules d = { 0 };
	struct unwind_rule array[5], a = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8 }, b = a, c = a;
	struct rule_set used = { 0 };
	uint16_t id_a, id_b, id;

	b.cfa_off = 16;
	c.cfa_off = 24;
	assert_int_equal(unwind_rules_init(&d, array, 5), 0);
	assert_int_equal(unwind_rules_add(&d, &a, &id_a), 0);
	assert_int_equal(unwind_rules_add(&d, &b, &id_b), 0);
	rule_set_add(&used, id_a);
	assert_int_equal(unwind_rules_sweep(&d, &used), 1);
	assert_int_equal(unwind_rules_add(&d, &c, &id), -ENOSPC);
	/* a row that is new has the rule again */
	assert_int_equal(unwind_rules_add(&d, &b, &id), 0);
	assert_int_equal(id, id_b);
	assert_int_equal(unwind_rules_sweep(&d, &used), 1);
	assert_int_equal(unwind_rules_sweep(&d, &used), 0);
	assert_int_equal(d.n_free, 1);
	assert_int_equal(unwind_rules_add(&d, &c, &id), 0);
	assert_int_equal(id, id_b);
	assert_int_equal(d.n_free, 0);
	assert_memory_equal(&array[id], &c, sizeof(c));
	/* the first rule kept its id, and the replaced one has none */
	assert_int_equal(unwind_rules_add(&d, &a, &id), 0);
	assert_int_equal(id, id_a);
	assert_int_equal(unwind_rules_add(&d, &b, &id), -ENOSPC);
}

static void fixed_rules_are_never_freed(void **state)
{
	_cleanup_(unwind_rules_fini) struct unwind_rules d = { 0 };
	const struct rule_set none = { 0 };
	struct unwind_rule array[8];

	assert_int_equal(unwind_rules_init(&d, array, 8), 0);
	assert_int_equal(unwind_rules_sweep(&d, &none), 0);
	assert_int_equal(unwind_rules_sweep(&d, &none), 0);
	assert_int_equal(d.n_free, 0);
}

TEST_GROUP(test_rules, TEST(rules_that_no_row_has_are_freed_by_the_second_sweep),
	   TEST(fixed_rules_are_never_freed), TEST(begins_with_the_fixed_ids),
	   TEST(equal_rules_have_one_id), TEST(reports_that_it_is_full))
