/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/top.h"

#include <errno.h>
#include <string.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void assert_row(const struct top *t, size_t i, const char *name, int64_t self, int64_t total)
{
	const struct top_row *row = top_row(t, i);

	assert_string_equal(top_entry(t, row).name, name);
	assert_int_equal(row->self, self);
	assert_int_equal(row->total, total);
}

static void recursion_counts_once(void **state)
{
	struct profile *p = fixture_folded("main;f;g;f 5\nmain;f 2\nmain 1\n");
	struct top *t;

	assert_int_equal(top_build(&t, p, &(struct top_options){ 0 }), 0);
	assert_int_equal(top_n_rows(t), 3);
	assert_row(t, 0, "f", 7, 7);
	assert_row(t, 1, "main", 1, 8);
	assert_row(t, 2, "g", 0, 5);
	assert_int_equal(top_sum(t), 8);
	top_free(t);
	profile_free(p);
}

static void assert_filtered(const struct profile *p, const char *focus, const char *ignore,
			    int64_t counted)
{
	struct top_options opt = { 0 };
	regex_t f, i;
	struct top *t;

	if (focus) {
		assert_int_equal(regcomp(&f, focus, REG_EXTENDED | REG_NOSUB), 0);
		opt.filter.focus = &f;
	}
	if (ignore) {
		assert_int_equal(regcomp(&i, ignore, REG_EXTENDED | REG_NOSUB), 0);
		opt.filter.ignore = &i;
	}
	assert_int_equal(top_build(&t, p, &opt), 0);
	assert_int_equal(top_counted(t), counted);
	assert_int_equal(top_sum(t), 15);
	top_free(t);
	if (focus)
		regfree(&f);
	if (ignore)
		regfree(&i);
}

static void focus_and_ignore_select_stacks(void **state)
{
	struct profile *p = fixture_folded("main;alloc;x 1\nmain;free;x 2\nother 4\nmain 8\n");

	assert_filtered(p, NULL, NULL, 15);
	assert_filtered(p, "^(alloc|free)$", NULL, 3);
	assert_filtered(p, NULL, "^x$", 12);
	assert_filtered(p, "main", "alloc", 10);
	assert_filtered(p, "nothing", NULL, 0);
	profile_free(p);
}

static void labels_make_rows_too(void **state)
{
	struct profile *p = fixture_folded("a 1\nb 2\n");
	struct top *t;

	assert_int_equal(top_build(&t, p, &(struct top_options){ .by = ENTRIES_BY_PROCESS }), 0);
	assert_int_equal(top_n_rows(t), 1);
	assert_row(t, 0, "[not labelled]", 3, 3);
	top_free(t);
	profile_free(p);
}

static void the_sample_type_is_the_default_one_or_the_last(void **state)
{
	struct profile *p;
	size_t num;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(top_value_num(p, NULL, &num), -EINVAL);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(top_value_num(p, NULL, &num), 0);
	assert_int_equal(num, 1);
	assert_int_equal(top_value_num(p, "samples", &num), 0);
	assert_int_equal(num, 0);
	profile_meta(p)->default_sample_type = profile_sample_type(p, 0).type;
	assert_int_equal(top_value_num(p, NULL, &num), 0);
	assert_int_equal(num, 0);
	assert_int_equal(top_value_num(p, "wall", &num), -ENOENT);
	profile_free(p);
}

static void an_unknown_sample_type_has_no_table(void **state)
{
	struct profile *p = fixture_folded("a 1\n");
	struct top *t;

	assert_int_equal(top_build(&t, p, &(struct top_options){ .value_num = 1 }), -EINVAL);
	profile_free(p);
}

TEST_GROUP(test_top, TEST(recursion_counts_once), TEST(focus_and_ignore_select_stacks),
	   TEST(labels_make_rows_too), TEST(the_sample_type_is_the_default_one_or_the_last),
	   TEST(an_unknown_sample_type_has_no_table))
