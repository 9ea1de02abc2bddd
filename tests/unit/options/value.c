/* SPDX-License-Identifier: Apache-2.0 */
#include "options/value.h"

#include "tests/test.h"

static void numbers_are_plain_decimal(void **state)
{
	static const char *const bad[] = { "",    "-1", "+1", "1.5", "1e3",
					   "0x1", " 1", "1 ", "ten", "18446744073709551616" };
	uint64_t v = 0;

	assert_true(value_parse_number("18446744073709551615", &v));
	assert_int_equal(v, UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(value_parse_number(bad[i], &v));
	assert_int_equal(v, UINT64_MAX);
}

static void durations_have_units_and_fractions(void **state)
{
	static const struct {
		const char *text, *unit;
		uint64_t ns;
	} good[] = {
		{ "50us", NULL, 50000 },      { "1.5s", NULL, 1500000000 },
		{ "2h", "s", 7200000000000 }, { "10", "s", 10000000000 },
		{ "0.5", "s", 500000000 },    { ".5", "s", 500000000 },
		{ "7", "us", 7000 },          { "1d", NULL, 86400000000000 },
		{ "0.0000001s", NULL, 100 },  { "0", "s", 0 },
	};
	static const char *const bad[] = { "",
					   "15",
					   "15 s",
					   "s",
					   "1.",
					   "1.s",
					   "-1s",
					   "1x",
					   "1.2.3s",
					   "1S",
					   "1e3ms",
					   "nans",
					   "1sec",
					   "99999999999999d",
					   "0.0000000001s" };
	uint64_t ns;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(value_parse_duration(good[i].text, good[i].unit, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(value_parse_duration(bad[i], NULL, &ns));
}

static void sizes_are_powers_of_two(void **state)
{
	uint64_t v;

	assert_true(value_parse_size("1.5K", NULL, &v));
	assert_int_equal(v, 1536);
	assert_true(value_parse_size("128M", NULL, &v));
	assert_int_equal(v, 128 << 20);
	assert_true(value_parse_size("512", "M", &v));
	assert_int_equal(v, 512 << 20);
	assert_true(value_parse_size("512", "B", &v));
	assert_int_equal(v, 512);
	assert_false(value_parse_size("128MB", NULL, &v));
	assert_false(value_parse_size("16777217T", NULL, &v));
}

static void a_percentage_may_have_its_sign(void **state)
{
	double v = 0;

	assert_true(value_parse_percent("2.5%", &v));
	assert_true(v == 2.5);
	assert_true(value_parse_percent("100", &v));
	assert_true(v == 100);
	assert_false(value_parse_percent("5%%", &v));
	assert_false(value_parse_percent("nan", &v));
	assert_false(value_parse_percent("-1", &v));
	assert_false(value_parse_percent("", &v));
}

static void choices_are_matched_as_a_whole(void **state)
{
	unsigned int v = 9;
	bool yes = false;

	assert_true(value_parse_choice("no", "full|short|no", &v));
	assert_int_equal(v, 2);
	assert_false(value_parse_choice("ful", "full|short|no", &v));
	assert_false(value_parse_choice("full|short", "full|short|no", &v));
	assert_false(value_parse_choice("", "full|short|no", &v));
	assert_true(value_parse_bool("true", &yes));
	assert_true(yes);
	assert_false(value_parse_bool("maybe", &yes));
}

static void bounds_are_shown_in_their_largest_unit(void **state)
{
	char text[VALUE_TEXT_LEN];

	assert_string_equal(value_format_duration(90000000000, text), "90s");
	assert_string_equal(value_format_duration(3600000000000, text), "1h");
	assert_string_equal(value_format_duration(0, text), "0ns");
	assert_string_equal(value_format_size(128 << 20, text), "128M");
	assert_string_equal(value_format_size(1000, text), "1000B");
}

TEST_GROUP(test_value, TEST(numbers_are_plain_decimal), TEST(durations_have_units_and_fractions),
	   TEST(sizes_are_powers_of_two), TEST(a_percentage_may_have_its_sign),
	   TEST(choices_are_matched_as_a_whole), TEST(bounds_are_shown_in_their_largest_unit))
