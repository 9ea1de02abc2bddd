/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/cpu_list.h"

#include <errno.h>

#include "base/err.h"
#include "tests/test.h"

static void reads_ranges_and_single_numbers(void **state)
{
	static const int want[] = { 0, 1, 2, 3, 8, 10, 11 };
	struct cpu_list l = { 0 };

	assert_int_equal(cpu_list_parse(&l, "0-3,8,10-11\n", NULL), 0);
	assert_int_equal(l.len, 7);
	assert_memory_equal(l.data, want, sizeof(want));
	vec_fini(&l);
}

static void refuses_invalid_lists(void **state)
{
	static const char *const bad[] = { "",    "x",       "1-", "3-1", "1,,2",
					   "1;2", "0-99999", "-1", "1, 2" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cpu_list l = { 0 };
		struct err err = { 0 };

		assert_int_equal(cpu_list_parse(&l, bad[i], &err), -EINVAL);
		assert_true(err.msg[0]);
		vec_fini(&l);
	}
}

static void at_least_one_cpu_is_online(void **state)
{
	struct cpu_list l = { 0 };

	assert_int_equal(cpu_list_online(&l, NULL), 0);
	assert_true(l.len >= 1);
	vec_fini(&l);
}

TEST_GROUP(test_cpu_list, TEST(reads_ranges_and_single_numbers), TEST(refuses_invalid_lists),
	   TEST(at_least_one_cpu_is_online))
