/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static void measures_the_valid_prefix(void **state)
{
	static const struct {
		const char *s;
		size_t valid;
	} cases[] = {
		{ "", 0 },
		{ "plain", 5 },
		{ "gr\xc3\xbc\xc3\x9f", 6 },
		{ "\xf0\x9f\x94\xa5", 4 },
		{ "ab\xff", 2 },
		{ "ab\xc3", 2 },            /* a truncated sequence */
		{ "a\xc0\xaf", 1 },         /* an overlong form */
		{ "a\xed\xa0\x80", 1 },     /* a surrogate */
		{ "a\xf4\x90\x80\x80", 1 }, /* beyond Unicode */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(utf8_valid(cases[i].s, strlen(cases[i].s)), cases[i].valid);
}

static void bytes_that_are_not_utf8_are_replaced_one_by_one(void **state)
{
	static const char in[] = "a\xff\xfe"
				 "b\xc3\xbc\xc3";
	struct buf out = { 0 };

	utf8_put(&out, in, sizeof(in) - 1);
	buf_put_byte(&out, 0);
	assert_string_equal((char *)out.data, "a\xef\xbf\xbd\xef\xbf\xbd"
					      "b\xc3\xbc\xef\xbf\xbd");
	buf_fini(&out);
}

static void a_line_has_no_control_characters(void **state)
{
	static const char in[] = "a\x1b[31m\n\t\x7f\xc2\x9b"
				 "\xc3\xbc\xff";
	struct buf out = { 0 };

	utf8_put_line(&out, in, sizeof(in) - 1);
	assert_true(utf8_is_line((char *)out.data, out.len));
	buf_put_byte(&out, 0);
	assert_string_equal((char *)out.data, "a [31m    \xc3\xbc\xef\xbf\xbd");
	assert_false(utf8_is_line(in, sizeof(in) - 1));
	assert_false(utf8_is_line("\xc2\x9b", 2));
	buf_fini(&out);
}

/* utf8_is_line() looks at eight bytes at a time where it can: every position has to count. */
static void a_control_character_is_found_anywhere(void **state)
{
	for (unsigned int c = 0; c < 0x100; c++) {
		bool is_plain = c >= 0x20 && c < 0x7f;

		for (size_t at = 0; at < 20; at++) {
			char s[20];

			memset(s, 'a' + (int)at, sizeof(s));
			s[at] = (char)c;
			assert_int_equal(utf8_is_line(s, sizeof(s)), is_plain);
		}
	}
}

/* Characters that make a line look like another one, and others next to them. */
static void a_line_looks_like_what_it_is(void **state)
{
	static const char *const unsafe[] = {
		"\xc2\xad",         "\xd8\x9c",     "\xe2\x80\x8b",     "\xe2\x80\x8e",
		"\xe2\x80\xa8",     "\xe2\x80\xae", "\xe2\x81\xa0",     "\xe2\x81\xa9",
		"\xef\xb7\x90",     "\xef\xbb\xbf", "\xef\xbf\xb9",     "\xef\xbf\xbe",
		"\xf3\xa0\x80\x81", "\xef\xbf\xbf", "\xf0\x9f\xbf\xbf", "\xf3\xa0\x84\x80",
	};
	static const char plain[] = "\xc2\xa0\xd7\x90\xd8\xa7\xe2\x80\x8c\xe2\x80\x8d\xe2\x80\x90"
				    "\xef\xbf\xbd\xf0\x9f\x98\x80";

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		struct buf out = { 0 };

		assert_false(utf8_is_line(unsafe[i], strlen(unsafe[i])));
		utf8_put_line(&out, unsafe[i], strlen(unsafe[i]));
		assert_int_equal(out.len, 1);
		assert_int_equal(out.data[0], ' ');
		buf_fini(&out);
	}
	assert_true(utf8_is_line(plain, sizeof(plain) - 1));
}

TEST_GROUP(test_utf8, TEST(a_line_looks_like_what_it_is), TEST(measures_the_valid_prefix),
	   TEST(bytes_that_are_not_utf8_are_replaced_one_by_one),
	   TEST(a_line_has_no_control_characters), TEST(a_control_character_is_found_anywhere))
