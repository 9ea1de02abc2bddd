/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static void appends_short_and_long_text(void **state)
{
	struct buf b = { 0 };
	char long_text[1000];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[999] = '\0';
	buf_put_str(&b, "ab");
	buf_put_byte(&b, 'c');
	buf_printf(&b, "%d", 42);
	buf_printf(&b, "%s", long_text);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, 5 + 999);
	assert_memory_equal(b.data, "abc42xxx", 8);
	buf_fini(&b);
}

static void failure_sticks(void **state)
{
	struct buf b = { 0 };

	buf_put(&b, "a", SIZE_MAX / 2);
	assert_int_equal(buf_error(&b), -ENOMEM);
	buf_put_str(&b, "more");
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static void a_limit_is_kept(void **state)
{
	struct buf b = { .max = 10 };

	buf_put_str(&b, "12345678");
	buf_put_str(&b, "abc");
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_put_byte(&b, '9');
	assert_int_equal(b.len, 8);
	buf_clear(&b);
	assert_int_equal(buf_error(&b), 0);
	buf_put_str(&b, "1234567890");
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, 10);
	buf_printf(&b, "%d", 1);
	assert_int_equal(buf_error(&b), -EFBIG);
	buf_fini(&b);
}

TEST_GROUP(test_buf, TEST(a_limit_is_kept), TEST(appends_short_and_long_text), TEST(failure_sticks))
