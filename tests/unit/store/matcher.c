/* SPDX-License-Identifier: Apache-2.0 */
#include "store/matcher.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

static bool test_one(enum matcher_op op, const char *pattern, const char *value)
{
	struct matcher *m = NULL;
	bool r;

	assert_int_equal(matcher_new(&m, op, "l", pattern, NULL), 0);
	r = matcher_test(m, value, strlen(value));
	matcher_free(m);
	return r;
}

static void an_expression_is_anchored_at_both_ends(void **state)
{
	assert_true(test_one(MATCHER_RE, "a|b", "b"));
	assert_false(test_one(MATCHER_RE, "a|b", "bc"));
	assert_false(test_one(MATCHER_RE, "b", "ab"));
	assert_true(test_one(MATCHER_RE, ".*", "a\nb"));
	assert_true(test_one(MATCHER_NOT_RE, "a.*", "ba"));
	assert_false(test_one(MATCHER_NOT_RE, "a.*", "ab"));
	assert_true(test_one(MATCHER_RE, "", ""));
}

static void equality_compares_all_bytes(void **state)
{
	assert_true(test_one(MATCHER_EQ, "a", "a"));
	assert_false(test_one(MATCHER_EQ, "a", "ab"));
	assert_true(test_one(MATCHER_NE, "a", ""));
}

static void an_invalid_expression_is_refused_with_a_reason(void **state)
{
	struct err err = { 0 };
	struct matcher *m = NULL;

	assert_int_equal(matcher_new(&m, MATCHER_RE, "l", "a(", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at byte 2"));
}

static void an_expression_beyond_its_limits_does_not_match(void **state)
{
	const char *hard = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad1";
	struct matcher *m = NULL;

	assert_int_equal(matcher_new(&m, MATCHER_RE, "l", "(a|aa)*(b|c)*d|x", NULL), 0);
	assert_true(matcher_test(m, "x", 1));
	assert_false(matcher_failed(m));
	assert_false(matcher_test(m, hard, strlen(hard)));
	assert_true(matcher_failed(m));
	assert_false(matcher_test(m, "x", 1)); /* the result is incomplete anyway */
	matcher_free(m);
	assert_false(test_one(MATCHER_RE, "(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	assert_false(test_one(MATCHER_NOT_RE, "(a|aa)*(b|c)*d",
			      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad1"));
}

TEST_GROUP(test_matcher, TEST(an_expression_is_anchored_at_both_ends),
	   TEST(equality_compares_all_bytes), TEST(an_invalid_expression_is_refused_with_a_reason),
	   TEST(an_expression_beyond_its_limits_does_not_match))
