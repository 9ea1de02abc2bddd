/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted names in Markdown: each stays one code span in one cell. */
#include "cli/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static void check(const char *text, const char *expected)
{
	struct buf b = { 0 };

	markdown_code(&b, text);
	buf_put_byte(&b, '\0');
	assert_string_equal((const char *)b.data, expected);
	buf_fini(&b);
}

static void names_become_code(void **state)
{
	check("main", "`main`");
	check("std::vector<int>::at", "`std::vector<int>::at`");
	check("__init__ @all #1 [x](y)", "`__init__ @all #1 [x](y)`");
	check("größe", "`größe`");
	check("", "(no name)");
}

static void backticks_do_not_end_the_span(void **state)
{
	check("a`b", "``a`b``");
	check("a``b`c", "```a``b`c```");
	check("`", "`` ` ``");
	check(" a", "`  a `");
}

static void a_bar_does_not_end_the_cell(void **state)
{
	check("a|b", "<code>a&#124;b</code>");
	check("a\\|<b>`é", "<code>a&#92;&#124;&#60;b&#62;&#96;é</code>");
}

static void lines_do_not_end(void **state)
{
	check("a\n# b\r\x1b[1m", "`a # b  [1m`");
	check("a\xff", "`a\xef\xbf\xbd`");
}

static void long_names_are_cut_between_characters(void **state)
{
	char text[1001] = "";
	struct buf b = { 0 };

	for (int i = 0; i < 500; i++)
		strcat(text, "é");
	text[0] = 'a';
	memmove(text + 1, text + 2, strlen(text + 1));
	markdown_code(&b, text);
	assert_true(b.len < 220);
	assert_memory_equal(b.data, "`a\xc3\xa9", 4);
	assert_memory_equal(b.data + b.len - 6, "\xc3\xa9`…", 6);
	buf_fini(&b);
}

TEST_GROUP(test_markdown, cmocka_unit_test(names_become_code),
	   cmocka_unit_test(backticks_do_not_end_the_span),
	   cmocka_unit_test(a_bar_does_not_end_the_cell), cmocka_unit_test(lines_do_not_end),
	   cmocka_unit_test(long_names_are_cut_between_characters))
