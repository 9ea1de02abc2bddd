/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/format.h"
#include "tests/test.h"

static void the_first_mistake_is_told(void **state)
{
	struct err err = { 0 };
	uint64_t n;
	double percent;

	assert_int_equal(args_limit("many", &n, &err), -EINVAL);
	assert_int_equal(args_percent("min", "-1", 100, &percent, &err), -EINVAL);
	assert_string_equal(err.msg, "--limit takes a number of rows, not many");
}

static void numbers_are_whole_and_within_their_bounds(void **state)
{
	uint64_t n = 0;

	assert_int_equal(args_number("port", "65535", 1, 65535, &n, NULL), 0);
	assert_int_equal(n, 65535);
	for (size_t i = 0; i < 6; i++) {
		static const char *const wrong[] = { "", "0", "65536", "1.5", "-1", "1x" };

		assert_int_equal(args_number("port", wrong[i], 1, 65535, &n, NULL), -EINVAL);
	}
}

static void a_percentage_may_have_its_sign(void **state)
{
	double p = 0;

	assert_int_equal(args_percent("min", "2.5%", 100, &p, NULL), 0);
	assert_true(p == 2.5);
	assert_int_equal(args_percent("min", "100", 100, &p, NULL), 0);
	assert_int_equal(args_percent("min", "101", 100, &p, NULL), -EINVAL);
	assert_int_equal(args_percent("min", "5%%", 100, &p, NULL), -EINVAL);
	assert_int_equal(args_percent("min", "nan", 100, &p, NULL), -EINVAL);
}

static void what_is_read_must_be_readable(void **state)
{
	const struct format *f = NULL;

	assert_int_equal(args_from("folded", &f, NULL), 0);
	assert_string_equal(format_id(f), "folded");
	assert_int_equal(args_from("html", &f, NULL), -EINVAL);
	assert_int_equal(args_from("zip", &f, NULL), -EINVAL);
}

TEST_GROUP(test_args, TEST(the_first_mistake_is_told),
	   TEST(numbers_are_whole_and_within_their_bounds), TEST(a_percentage_may_have_its_sign),
	   TEST(what_is_read_must_be_readable))
