/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/payers.h"

#include "base/clock.h"
#include "tests/test.h"

static const uint64_t S = CLOCK_SECOND_NS;

static struct payers *new_payers(void)
{
	struct payers *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	return p;
}

static void refusal_doubles_with_each_failure(void **state)
{
	struct payers *p = new_payers();

	payers_charge(p, 5, 0, 100 * S);
	assert_true(payers_is_refused(p, 5, 100 * S + S / 2));
	assert_false(payers_is_refused(p, 5, 101 * S));
	assert_false(payers_is_refused(p, 6, 100 * S));
	payers_charge(p, 5, 0, 101 * S);
	assert_true(payers_is_refused(p, 5, 102 * S + S / 2));
	assert_false(payers_is_refused(p, 5, 103 * S));
	for (int i = 0; i < 100; i++)
		payers_charge(p, 5, 0, 200 * S);
	assert_true(payers_is_refused(p, 5, 499 * S));
	assert_false(payers_is_refused(p, 5, 500 * S));
	free(p);
}

static void an_owner_has_some_failures_free(void **state)
{
	struct payers *p = new_payers();

	for (int i = 0; i < 3; i++)
		payers_charge(p, 5, 3, 100 * S);
	assert_false(payers_is_refused(p, 5, 100 * S));
	payers_charge(p, 5, 3, 100 * S);
	assert_true(payers_is_refused(p, 5, 100 * S));
	free(p);
}

static void failures_are_forgotten(void **state)
{
	struct payers *p = new_payers();

	payers_charge(p, 5, 0, 100 * S);
	payers_forgive(p, 5);
	assert_false(payers_is_refused(p, 5, 100 * S));
	for (int i = 0; i < 8; i++)
		payers_charge(p, 5, 0, 100 * S);
	payers_charge(p, 5, 0, 2000 * S);
	assert_false(payers_is_refused(p, 5, 2001 * S));
	payers_charge(p, 0, 0, 100 * S);
	assert_false(payers_is_refused(p, 0, 100 * S));
	free(p);
}

static void a_full_table_forgets_the_mildest_payer(void **state)
{
	struct payers *p = new_payers();

	for (uint64_t key = 1; key <= PAYERS_MAX; key++)
		payers_charge(p, key, 0, key == 7 ? 99 * S : 100 * S);
	payers_charge(p, 9999, 0, 100 * S);
	assert_true(payers_is_refused(p, 9999, 100 * S));
	assert_false(payers_is_refused(p, 7, 99 * S));
	assert_true(payers_is_refused(p, 8, 100 * S));
	free(p);
}

int test_payers(void);
int test_payers(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refusal_doubles_with_each_failure),
		TEST(an_owner_has_some_failures_free),
		TEST(failures_are_forgotten),
		TEST(a_full_table_forgets_the_mildest_payer),
	};

	return TEST_RUN("payers", tests, NULL, NULL);
}
