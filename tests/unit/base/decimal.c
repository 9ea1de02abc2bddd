/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <errno.h>

#include "tests/test.h"

static void a_whole_text_is_a_number_or_an_error(void **state)
{
	static const char *const bad[] = { "",  "-",   " 1",  "1 ",  "+1", "1x",
					   "x", "0x1", "1.0", "1e3", "--1" };
	int64_t v;

	assert_int_equal(decimal_parse("0", &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(decimal_parse("-9223372036854775808", &v), 0);
	assert_true(v == INT64_MIN);
	assert_int_equal(decimal_parse("9223372036854775807", &v), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(decimal_parse("9223372036854775808", &v), -ERANGE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decimal_parse(bad[i], &v), -EINVAL);
}

static void a_number_with_a_fraction_is_finite(void **state)
{
	static const char *const bad[] = { "",   "nan",   "inf", "0x1p3", " 1",
					   "1 ", "1e999", "-",   "1.5.",  "1x" };
	double v;

	assert_int_equal(decimal_parse_double("-1.5e2", &v), 0);
	assert_true(v == -150);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decimal_parse_double(bad[i], &v), -EINVAL);
}

TEST_GROUP(test_decimal, TEST(a_whole_text_is_a_number_or_an_error),
	   TEST(a_number_with_a_fraction_is_finite))
