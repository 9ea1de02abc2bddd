/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

static void values_have_the_unit_that_suits_them(void **state)
{
	static const struct {
		int64_t v;
		const char *unit, *text;
	} cases[] = {
		{ 17, "count", "17" },
		{ 999, "nanoseconds", "999ns" },
		{ 4020000000, "nanoseconds", "4.02s" },
		{ -1500000, "nanoseconds", "-1.50ms" },
		{ 90000000000, "nanoseconds", "90.00s" },
		{ 600000000000, "nanoseconds", "10.00min" },
		{ 1536, "bytes", "1.50kB" },
	};
	char text[TEXT_VALUE_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(text_value(cases[i].v, cases[i].unit, text), cases[i].text);
	assert_true(text_percent(1, 4) == 25);
	assert_true(text_percent(1, 0) == 0);
}

static void names_cannot_control_the_terminal(void **state)
{
	struct buf b = { 0 };

	text_put_safe(&b, "a\x1b[31mb\xc2\x9b\xc3\xa4\x7f");
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, "a [31mb \xc3\xa4 ");
	buf_fini(&b);
	assert_string_equal(text_base_name("/usr/bin/cat"), "cat");
	assert_string_equal(text_base_name("dir/"), "dir/");
	assert_string_equal(text_base_name("cat"), "cat");
}

static void messages_are_one_line_each(void **state)
{
	char text[100] = "";
	FILE *file = tmpfile();
	int stderr_fd = dup(STDERR_FILENO);
	ssize_t n;

	assert_non_null(file);
	assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
	text_print_message("level=error path=\x1b]0;x\x07\nlevel=info \xc2\x9b\xff");
	fflush(stderr);
	assert_int_equal(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
	close(stderr_fd);
	n = pread(fileno(file), text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	assert_string_equal(text, "level=error path= ]0;x  level=info  \xef\xbf\xbd\n");
	fclose(file);
}

static void a_text_beyond_its_limit_is_an_error(void **state)
{
	struct buf b = { .max = 4 };
	struct err err = { 0 };

	buf_put_str(&b, "abcd");
	assert_int_equal(text_check(&b, &err), 0);
	buf_put_str(&b, "e");
	assert_int_equal(text_print(&b, &err), -EFBIG);
	assert_string_equal(err.msg, "the output exceeds the limit of 4 bytes");
	buf_fini(&b);
}

TEST_GROUP(test_text, TEST(values_have_the_unit_that_suits_them),
	   TEST(names_cannot_control_the_terminal), TEST(messages_are_one_line_each),
	   TEST(a_text_beyond_its_limit_is_an_error))
