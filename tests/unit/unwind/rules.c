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

TEST_GROUP(test_rules, TEST(begins_with_the_fixed_ids), TEST(equal_rules_have_one_id),
	   TEST(reports_that_it_is_full))
