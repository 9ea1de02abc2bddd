/* SPDX-License-Identifier: Apache-2.0 */
#include "base/logfmt.h"

#include "base/buf.h"
#include "tests/test.h"

static void assert_line(const char *text, const char *expected)
{
	struct buf b = { 0 };

	buf_put_str(&b, "level=warn ");
	logfmt_put(&b, "error", text);
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal((char *)b.data, expected);
	buf_fini(&b);
}

static void a_value_is_quoted(void **state)
{
	(void)state;
	assert_line("cannot open", "level=warn error=\"cannot open\"");
	assert_line("", "level=warn error=\"\"");
}

static void quotes_and_backslashes_are_escaped(void **state)
{
	(void)state;
	assert_line("rule \"a\\b\"", "level=warn error=\"rule \\\"a\\\\b\\\"\"");
}

static void control_characters_cannot_begin_a_line(void **state)
{
	(void)state;
	assert_line("a\nlevel=info\033[2J", "level=warn error=\"a\\nlevel=info\\x1b[2J\"");
}

TEST_GROUP(test_logfmt, TEST(a_value_is_quoted), TEST(quotes_and_backslashes_are_escaped),
	   TEST(control_characters_cannot_begin_a_line))
