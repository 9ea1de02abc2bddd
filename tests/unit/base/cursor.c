/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cursor.h"

#include "tests/test.h"

static void bytes_are_taken_until_too_few_are_left(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
	struct cursor c = { bytes, sizeof(bytes) };
	uint16_t v = 0;

	assert_ptr_equal(cursor_take(&c, 0), bytes);
	assert_ptr_equal(cursor_take(&c, 2), bytes);
	assert_true(cursor_copy(&c, &v, sizeof(v)));
	assert_memory_equal(&v, bytes + 2, sizeof(v));
	assert_false(cursor_copy(&c, &v, sizeof(v)));
	assert_null(cursor_take(&c, SIZE_MAX));
	assert_memory_equal(&v, bytes + 2, sizeof(v));
	assert_int_equal(c.len, 1);
	assert_ptr_equal(cursor_take(&c, 1), bytes + 4);
	assert_null(cursor_take(&c, 1));
}

static void strings_end_before_the_bytes_do(void **state)
{
	static const char text[] = { 'a', 'b', '\0', '\0', 'c' };
	struct cursor c = { (const uint8_t *)text, sizeof(text) };
	struct cursor empty = { NULL, 0 };

	assert_string_equal(cursor_string(&c), "ab");
	assert_string_equal(cursor_string(&c), "");
	assert_null(cursor_string(&c));
	assert_int_equal(c.len, 1);
	assert_null(cursor_string(&empty));
}

TEST_GROUP(test_cursor, TEST(bytes_are_taken_until_too_few_are_left),
	   TEST(strings_end_before_the_bytes_do))
