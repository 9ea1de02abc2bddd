/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo diff`: the changes between known profiles, and its exit status.
 *
 * covers: src/cli/comparison.c
 */
#include <stdio.h>

#include "tests/unit/cli/command.h"

static const char BEFORE[] =
	"main;parse;alloc 60\nmain;parse 20\nmain;draw;alloc 15\nidle;wait 5\n";
static const char AFTER[] =
	"main;parse;alloc 60\nmain;parse 220\nmain;draw;alloc 15\nidle;wait 6\n";

static void write_both(void)
{
	file_write("before", BEFORE);
	file_write("after", AFTER);
}

static void changes_are_shares_of_the_whole_before(void **state)
{
	const struct command_result *r;

	write_both();
	r = RUN("diff", "before", "after");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	/* The deviation of 6 - 5 is sqrt(11), so that is noise. */
	assert_string_equal(r->out,
			    "samples: 100 before, 301 after (+201.00%, more)\n"
			    "self before  self after      self          total\n"
			    "         20         220  +200.00% more   +200.00% more   parse\n"
			    "          5           6    +1.00% noise    +1.00% noise  wait\n"
			    "          0           0    +0.00% noise  +200.00% more   main\n"
			    "          0           0    +0.00% noise    +1.00% noise  idle\n");
}

static void normalized_profiles_of_different_length_do_not_differ(void **state)
{
	const struct command_result *r;

	file_write("short", "main;f 30\nmain;g 70\n");
	file_write("long", "main;f 300\nmain;g 700\n");
	r = RUN("diff", "short", "long", "--normalize", "--fail-above", "0");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "samples: 100 before, 1000 after (+900.00%, more); "
				    "compared as shares of the total\n"
				    "self before  self after      self          total\n");
	r = RUN("diff", "short", "long", "--fail-above", "0", "--limit", "1");
	assert_int_equal(r->status, 1);
}

static void identical_profiles_have_no_rows(void **state)
{
	const struct command_result *r;

	write_both();
	r = RUN("diff", "before", "before", "--json");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "\"rows\":[]}"));
}

static void json_has_the_deviation(void **state)
{
	const struct command_result *r;
	const char *z;

	write_both();
	r = RUN("diff", "before", "after", "--json", "--limit", "1");
	assert_int_equal(r->status, 0);
	z = strstr(r->out, "\"self\":{\"before\":20,\"after\":220,\"percent\":200,\"z\":");
	assert_non_null(z);
	/* 200 / sqrt(240) */
	assert_float_equal(strtod(strstr(z, "\"z\":") + 4, NULL), 12.9099, 0.0001);
	assert_null(strstr(r->out, "\"wait\""));
}

/* Values of another unit than count, without a period, stand for an unknown number of samples. */
static void without_sample_counts_nothing_is_called_noise(void **state)
{
	static const char scope[] =
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":[{\"type\":\"sampled\","
		"\"name\":\"p\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%s,"
		"\"samples\":[[0]],\"weights\":[%s]}]}";
	const struct command_result *r;
	char text[512];

	snprintf(text, sizeof(text), scope, "1000", "1000");
	file_write("before", text);
	snprintf(text, sizeof(text), scope, "1010", "1010");
	file_write("after", text);
	r = RUN("diff", "before", "after");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "no sample counts"));
	assert_non_null(strstr(r->out, "+1.00% ?"));
	assert_null(strstr(r->out, "% noise"));
	r = RUN("diff", "before", "after", "--json");
	assert_null(strstr(r->out, "\"z\""));
	/* A difference that may be noise still fails a test that allows no growth. */
	assert_int_equal(RUN("diff", "before", "after", "--fail-above", "0.5")->status, 1);
}

static void growth_beyond_noise_fails(void **state)
{
	const struct command_result *r;

	write_both();
	r = RUN("diff", "before", "after", "--fail-above", "199");
	assert_int_equal(r->status, 1);
	assert_string_equal(r->err, "cameo diff: \"parse\" grew by 200.00% of the total, more than "
				    "199%\n");
	assert_non_null(strstr(r->out, "parse"));
	r = RUN("diff", "before", "after", "--fail-above", "202");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	r = RUN("diff", "after", "before", "--fail-above", "0");
	assert_int_equal(r->status, 0);
	/* Each function may grow within chance while the sum of all does not. */
	file_write("one", "a 100\nb 100\nc 100\nd 100\n");
	file_write("two", "a 140\nb 140\nc 140\nd 140\n");
	r = RUN("diff", "one", "two", "--fail-above", "5");
	assert_int_equal(r->status, 1);
	assert_string_equal(r->err, "cameo diff: the total grew by 40.00%, more than 5%\n");
}

static void the_page_replaces_the_table(void **state)
{
	const struct command_result *r;
	char *page;

	write_both();
	r = RUN("diff", "before", "after", "-o", "x.html");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "");
	page = file_read("x.html");
	assert_non_null(strstr(page, "<title>before - after"));
	assert_non_null(strstr(page, "parse"));
	r = RUN("diff", "before", "after", "-o", "-");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, page);
	free(page);
	/* The page is written even where the comparison fails. */
	r = RUN("diff", "before", "after", "-o", "y.html", "--json", "--fail-above", "5");
	assert_int_equal(r->status, 1);
	assert_int_equal(r->out[0], '{');
	free(file_read("y.html"));
	assert_int_equal(file_count(), 4);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "diff" }, "expected two profiles, not 0" },
		{ { "diff", "before" }, "expected two profiles, not 1" },
		{ { "diff", "before", "after", "after" }, "expected two profiles, not 3" },
		{ { "diff", "before", "after", "--fail-above", "-1" }, "--fail-above" },
		{ { "diff", "before", "after", "--fail-above", "x" }, "--fail-above" },
		{ { "diff", "before", "after", "--fail-above" }, "--fail-above" },
		{ { "diff", "before", "after", "--limit", "1.5" }, "--limit" },
		{ { "diff", "before", "after", "-o", "x.svg" }, "ends in .html" },
		{ { "diff", "before", "after", "-o", ".html" }, "ends in .html" },
		{ { "diff", "before", "after", "-o", "-", "--json" }, "cannot be used together" },
		{ { "diff", "before", "after", "--normalise" }, "--normalise" },
		{ { "diff", "before", "after", "--from", "svg" }, "--from" },
		{ { NULL }, NULL },
	};

	write_both();
	command_refuses(bad);
	assert_int_equal(file_count(), 2);
}

static void a_failure_leaves_no_page(void **state)
{
	write_both();
	file_write("text", "This is not a profile.\n");
	file_write("old.html", "old");
	command_failed(RUN("diff", "before", "missing", "-o", "x.html"), "diff", 1, "\"missing\"");
	command_failed(RUN("diff", "text", "after", "-o", "x.html"), "diff", 1, "\"text\"");
	command_failed(RUN("diff", "before", "text", "-o", "old.html"), "diff", 1, "\"text\"");
	command_failed(RUN("diff", "before", "after", "-o", "no/dir/x.html"), "diff", 1,
		       "no/dir/x.html");
	command_failed(RUN("diff", "before", "after", "--sample-type", "heap", "-o", "x.html"),
		       "diff", 1, "heap");
	assert_int_equal(file_count(), 4);
}

static void both_profiles_need_the_sample_type(void **state)
{
	static const char scope[] =
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":[{\"type\":\"sampled\","
		"\"name\":\"p\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":1,"
		"\"samples\":[[0]],\"weights\":[1]}]}";

	write_both();
	file_write("bytes", scope);
	command_failed(RUN("diff", "before", "bytes"), "diff", 1, "--sample-type");
}

TEST_GROUP(test_diff, COMMAND_TEST(changes_are_shares_of_the_whole_before),
	   COMMAND_TEST(normalized_profiles_of_different_length_do_not_differ),
	   COMMAND_TEST(identical_profiles_have_no_rows), COMMAND_TEST(json_has_the_deviation),
	   COMMAND_TEST(without_sample_counts_nothing_is_called_noise),
	   COMMAND_TEST(growth_beyond_noise_fails), COMMAND_TEST(the_page_replaces_the_table),
	   COMMAND_TEST(wrong_command_lines_are_refused), COMMAND_TEST(a_failure_leaves_no_page),
	   COMMAND_TEST(both_profiles_need_the_sample_type))
