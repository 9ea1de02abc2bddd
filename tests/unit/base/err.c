/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

#include "tests/test.h"

static void keeps_the_innermost_message(void **state)
{
	struct err err = { 0 };

	assert_int_equal(err_set(&err, -EBADMSG, "at %d", 7), -EBADMSG);
	assert_int_equal(err_set(&err, -EIO, "outer"), -EIO);
	assert_string_equal(err.msg, "at 7");
	assert_int_equal(err.code, -EBADMSG);
}

static void accepts_a_null_err(void **state)
{
	assert_int_equal(err_set(NULL, -ENOMEM, "x"), -ENOMEM);
}

TEST_GROUP(test_err, TEST(keeps_the_innermost_message), TEST(accepts_a_null_err))
