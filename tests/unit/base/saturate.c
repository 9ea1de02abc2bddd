/* SPDX-License-Identifier: Apache-2.0 */
#include "base/saturate.h"

#include <stddef.h>

#include "tests/test.h"

static void a_sum_that_did_not_fit_is_recognized_whatever_is_added(void **state)
{
	static const int64_t values[] = { INT64_MIN, INT64_MIN + 1, -1,       0,
					  1,         INT64_MAX - 1, INT64_MAX };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		int64_t high = saturating_add(INT64_MAX - 1, 2);
		int64_t low = saturating_add(INT64_MIN + 1, -2);

		assert_true(saturating_add(high, values[i]) == INT64_MAX);
		assert_true(saturating_add(low, values[i]) == INT64_MIN);
		assert_true(is_saturated(saturating_add(values[i], high)));
		assert_true(is_saturated(saturating_add(values[i], low)));
		assert_int_equal(is_saturated(values[i]), i == 0 || i == 6);
	}
}

static void a_sum_that_fits_is_exact(void **state)
{
	assert_true(saturating_add(INT64_MAX - 1, INT64_MIN + 1) == -1);
	assert_true(saturating_add(INT64_MAX - 2, 1) == INT64_MAX - 1);
	assert_true(saturating_add(-3, 5) == 2);
}

static void magnitudes_have_no_sign(void **state)
{
	assert_true(saturating_add_magnitude(3, -5) == 8);
	assert_true(saturating_add_magnitude(0, INT64_MIN) == INT64_MAX);
	assert_true(saturating_add_magnitude(INT64_MAX - 5, -5) == INT64_MAX);
}

TEST_GROUP(test_saturate, TEST(a_sum_that_did_not_fit_is_recognized_whatever_is_added),
	   TEST(a_sum_that_fits_is_exact), TEST(magnitudes_have_no_sign))
