/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/function_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

/* Asserts that @name means the functions in @expected, separated by spaces. */
static void means(const char *stacks, const char *name, const char *expected)
{
	struct profile *p = fixture_folded(stacks);
	char found[200] = "";
	uint8_t *matched;

	assert_int_equal(function_find(p, name, &matched), 0);
	for (uint32_t i = 0; i < profile_n_functions(p); i++) {
		const char *f = profile_string(p, profile_function(p, i)->name);

		if (matched[i])
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s",
				 *found ? " " : "", f);
	}
	assert_string_equal(found, expected);
	free(matched);
	profile_free(p);
}

static void a_whole_name_comes_before_parts(void **state)
{
	means("main;parse;parse_line 1\n", "parse", "parse");
	means("main;parse_file;parse_line 1\n", "parse", "parse_file parse_line");
}

static void a_name_that_no_function_has_is_not_found(void **state)
{
	struct profile *p = fixture_folded("main;parse 1\n");
	uint8_t *matched;

	assert_int_equal(function_find(p, "draw", &matched), -ENOENT);
	assert_int_equal(function_find(p, "", &matched), -ENOENT);
	profile_free(p);
}

static void similar_names_are_suggested_the_best_first(void **state)
{
	struct profile *p = fixture_folded("main;parse_lines;parseline;draw;x 1\nparse_line 1\n");
	const char *out[FUNCTION_SUGGESTIONS];

	assert_int_equal(function_suggest(p, "parse_lime", out), 3);
	assert_string_equal(out[0], "parse_line");
	assert_int_equal(function_suggest(p, "DRWA", out), 1);
	assert_string_equal(out[0], "draw");
	assert_int_equal(function_suggest(p, "", out), 0);
	assert_int_equal(function_suggest(p, "something_else_entirely", out), 0);
	profile_free(p);
}

static void long_names_are_compared_in_part(void **state)
{
	static char stacks[5000], name[5000];
	const char *out[FUNCTION_SUGGESTIONS];
	struct profile *p;

	memset(name, 'a', 4000);
	snprintf(stacks, sizeof(stacks), "%.4000sb 1\n", name);
	p = fixture_folded(stacks);
	assert_int_equal(function_suggest(p, name, out), 1);
	profile_free(p);
}

TEST_GROUP(test_function_find, TEST(a_whole_name_comes_before_parts),
	   TEST(a_name_that_no_function_has_is_not_found),
	   TEST(similar_names_are_suggested_the_best_first), TEST(long_names_are_compared_in_part))
