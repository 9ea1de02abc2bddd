/* SPDX-License-Identifier: Apache-2.0 */
#include "query/selector.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/matcher.h"
#include "tests/test.h"

static void expect(const struct selector *s, size_t i, const char *name, enum matcher_op op,
		   const char *value)
{
	assert_string_equal(matcher_name(s->data[i]), name);
	assert_int_equal(matcher_op(s->data[i]), op);
	assert_string_equal(matcher_value(s->data[i]), value);
}

static void all_four_operators_and_quoted_names(void **state)
{
	static const char text[] =
		" { a=\"x\" ,b!=\"y\", c=~\"r.*\\\\.\\d\", 'host.name' !~ `\\w`, } ";
	_cleanup_(selector_fini) struct selector s = { 0 };

	assert_int_equal(selector_parse(&s, text, strlen(text), NULL), 0);
	assert_int_equal(s.len, 4);
	expect(&s, 0, "a", MATCHER_EQ, "x");
	expect(&s, 1, "b", MATCHER_NE, "y");
	expect(&s, 2, "c", MATCHER_RE, "r.*\\.\\d");
	expect(&s, 3, "host.name", MATCHER_NOT_RE, "\\w");
}

static void empty_braces_match_everything(void **state)
{
	_cleanup_(selector_fini) struct selector s = { 0 };

	assert_int_equal(selector_parse(&s, "{}", 2, NULL), 0);
	assert_int_equal(s.len, 0);
}

static void refuses_an_invalid_selector(void **state)
{
	static const char *const texts[] = { "",
					     "{",
					     "{a}",
					     "{a=}",
					     "{a=\"x",
					     "{a=\"x\"",
					     "{a=\"x\"}b",
					     "{=\"x\"}",
					     "a=\"x\"",
					     "{a!\"x\"}",
					     "{a=~\"(\"}",
					     "{1a=\"x\"}",
					     "{a=\"x\" b=\"y\"}",
					     "{a=\"\\" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_(selector_fini) struct selector s = { 0 };

		assert_int_equal(selector_parse(&s, texts[i], strlen(texts[i]), NULL), -EINVAL);
	}
}

TEST_GROUP(test_selector, TEST(all_four_operators_and_quoted_names),
	   TEST(empty_braces_match_everything), TEST(refuses_an_invalid_selector))
