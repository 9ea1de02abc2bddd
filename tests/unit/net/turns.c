/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

#include "net/turns.h"

enum { MANY = 1000 };

static void clients_take_turns(void **state)
{
	struct turn a[MANY] = { 0 }, b = { 0 }, c = { 0 };
	struct turns t;
	int place_of_b = 0, place_of_c = 0, n = 0;
	void *owner;

	(void)state;
	turns_init(&t);
	for (int i = 0; i < MANY; i++)
		turns_add(&t, &a[i], &a[i], 5);
	turns_add(&t, &b, &b, 4);
	turns_add(&t, &c, &c, TURNS_FLOWS + 63);
	while ((owner = turns_take(&t))) {
		n++;
		if (owner == &b)
			place_of_b = n;
		if (owner == &c)
			place_of_c = n;
	}
	assert_int_equal(n, MANY + 2);
	assert_true(place_of_b && place_of_b <= 3 && place_of_c && place_of_c <= 3);
	assert_true(turns_is_empty(&t));
}

static void one_client_is_served_in_order(void **state)
{
	struct turn a[3] = { 0 };
	struct turns t;

	(void)state;
	turns_init(&t);
	for (int i = 0; i < 3; i++)
		turns_add(&t, &a[i], &a[i], 7);
	turns_add(&t, &a[0], &a[0], 7); /* it waits already */
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(turns_take(&t), &a[i]);
	assert_null(turns_take(&t));
}

static void one_that_is_removed_has_no_turn(void **state)
{
	struct turn a[3] = { 0 };
	struct turns t;

	(void)state;
	turns_init(&t);
	for (uint32_t i = 0; i < 3; i++)
		turns_add(&t, &a[i], &a[i], i / 2);
	turns_remove(&a[0]);
	turns_remove(&a[0]);
	assert_ptr_equal(turns_take(&t), &a[1]);
	turns_remove(&a[2]);
	assert_true(turns_is_empty(&t));
	assert_null(turns_take(&t));
	turns_add(&t, &a[0], &a[0], 0);
	assert_ptr_equal(turns_take(&t), &a[0]);
}

int test_turns(void);

int test_turns(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_take_turns),
		cmocka_unit_test(one_client_is_served_in_order),
		cmocka_unit_test(one_that_is_removed_has_no_turn),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
