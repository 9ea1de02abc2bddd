/* SPDX-License-Identifier: Apache-2.0 */
#include "options/option.h"

#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/options/toy.h"

static int assign(struct toy *t, const char *name, const char *text, struct err *err)
{
	const struct option_set set = { toy_options, t };

	return option_assign(&set, option_find(toy_options, name, strlen(name)), name, text, err);
}

static void init(struct toy *t)
{
	*t = (struct toy){ .inherit = true };
	assert_int_equal(option_set_init(&(struct option_set){ toy_options, t }), 0);
}

static void fini(struct toy *t)
{
	option_set_fini(&(struct option_set){ toy_options, t });
}

static void fields_have_their_defaults(void **state)
{
	struct toy t;

	init(&t);
	assert_string_equal(t.name, "x");
	assert_int_equal(t.freq, 19);
	assert_int_equal(t.window, 15000000000);
	assert_int_equal(t.mode, 1);
	assert_int_equal(t.lazy, 0);
	assert_int_equal(t.tags.len, 0);
	fini(&t);
	assert_null(t.name);
}

static void values_are_converted_by_kind(void **state)
{
	struct toy t;

	init(&t);
	assert_int_equal(assign(&t, "loud", "yes", NULL), 0);
	assert_int_equal(assign(&t, "no-inherit", "yes", NULL), 0);
	assert_int_equal(assign(&t, "name", "", NULL), 0);
	assert_int_equal(assign(&t, "tag", "a", NULL), 0);
	assert_int_equal(assign(&t, "tag", "b", NULL), 0);
	assert_int_equal(assign(&t, "memory", "2", NULL), 0);
	assert_int_equal(assign(&t, "share", "12.5%", NULL), 0);
	assert_int_equal(assign(&t, "colour", "red", NULL), 0);
	assert_true(t.loud);
	assert_false(t.inherit);
	assert_null(t.name);
	assert_int_equal(t.tags.len, 2);
	assert_string_equal(t.tags.data[1], "b");
	assert_int_equal(t.memory, 2 << 20);
	assert_true(t.share == 12.5);
	assert_int_equal(t.colour, 7);
	assert_int_equal(assign(&t, "tag", "", NULL), 0);
	assert_int_equal(t.tags.len, 0);
	fini(&t);
}

static void errors_name_the_option_the_value_and_what_was_expected(void **state)
{
	static const char *const bad[][3] = {
		{ "freq", "abc",
		  "freq \"abc\": expected a number of samples per second between 1 and 10000" },
		{ "count", "0", "count \"0\": expected a whole number of at least 1" },
		{ "window", "500ms",
		  "window \"500ms\": expected a duration such as 500ms, 15s or 2h between 1s and "
		  "1h" },
		{ "memory", "2G",
		  "memory \"2G\": expected a size such as 512K, 128M or 1G between 1M and 1G" },
		{ "share", "101", "share \"101\": expected a percentage between 0 and 100" },
		{ "idle", "maybe", "idle \"maybe\": expected yes or no" },
		{ "mode", "all", "mode \"all\": expected full, short or no" },
		{ "colour", "blue", "colour \"blue\": expected red" },
		{ "name", "a\x01", "name: the value contains control characters" },
	};
	struct toy t;

	init(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(assign(&t, bad[i][0], bad[i][1], &err), -EINVAL);
		assert_string_equal(err.msg, bad[i][2]);
	}
	assert_int_equal(t.freq, 19);
	fini(&t);
}

static int check_none(const char *text, struct err *why)
{
	return err_set(why, -EINVAL, "expected a file");
}

static void a_value_that_may_be_a_secret_is_not_shown(void **state)
{
	static const struct option_spec options[] = {
		{ TOY(TEXTS, tags, "tag"), .check = check_none, .flags = OPTION_MAY_BE_SECRET },
		{ 0 },
	};
	struct toy t = { 0 };
	const struct option_set set = { options, &t };
	struct err err = { 0 };

	assert_int_equal(option_assign(&set, options, "tag", "hunter2", &err), -EINVAL);
	assert_string_equal(err.msg, "tag: expected a file");
	assert_int_equal(t.tags.len, 0);
}

static void fixed_values_are_stored(void **state)
{
	struct buf kept = { 0 };
	struct toy old, t;

	init(&old);
	init(&t);
	assert_int_equal(assign(&old, "freq", "99", NULL), 0);
	assert_int_equal(assign(&old, "tag", "a", NULL), 0);
	assert_int_equal(assign(&t, "window", "2s", NULL), 0);
	assert_int_equal(option_set_keep(&(struct option_set){ toy_options, &t }, &old, &kept), 0);
	buf_put_byte(&kept, 0);
	assert_string_equal((const char *)kept.data, "tag freq");
	assert_int_equal(t.freq, 99);
	assert_string_equal(t.tags.data[0], "a");
	assert_int_equal(t.window, 2000000000);
	buf_fini(&kept);
	fini(&old);
	fini(&t);
}

TEST_GROUP(test_option, TEST(fields_have_their_defaults), TEST(values_are_converted_by_kind),
	   TEST(errors_name_the_option_the_value_and_what_was_expected),
	   TEST(a_value_that_may_be_a_secret_is_not_shown), TEST(fixed_values_are_stored))
