/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo ci`: the Markdown of known profiles, its exit status, and recordings on a kernel side in
 * memory.
 *
 * covers: src/cli/ci_report.c src/cli/debug_files.c
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/profiler/kernel.h"

static const char BASE[] = "main;parse;alloc 60\nmain;parse 20\nmain;draw;alloc 15\nidle;wait 5\n";
static const char NOW[] = "main;parse;alloc 10\nmain;parse 220\nmain;draw;alloc 15\nidle;wait 6\n";

static void write_both(void)
{
	file_write("base.folded", BASE);
	file_write("now.folded", NOW);
}

static void changes_are_listed_by_direction(void **state)
{
	const struct command_result *r;

	write_both();
	r = RUN("ci", "--base", "base.folded", "--profile", "now.folded", "--title", "Bench",
		"--link", "https://ci.example/1");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	assert_string_equal(
		r->out, "### Bench\n\nBase: `base.folded`.\n\n"
			"`samples`: **+151.00 %** (more), 100 before, 251 after.\n\n"
			"#### Functions that grew\n\n"
			"| self | total | self before | self after | function |\n"
			"| ---: | ---: | ---: | ---: | --- |\n"
			"| +200.00 % (12.9 σ) | +150.00 % (8.5 σ) | 20 | 220 | `parse` |\n"
			"| +0.00 % (noise) | +150.00 % (8.1 σ) | 0 | 0 | `main` |\n\n"
			"#### Functions that shrank\n\n"
			"| self | total | self before | self after | function |\n"
			"| ---: | ---: | ---: | ---: | --- |\n"
			"| -50.00 % (5.0 σ) | -50.00 % (5.0 σ) | 75 | 25 | `alloc` |\n\n"
			"2 further functions changed by less than 3 standard deviations (noise). "
			"Percentages are shares of the total before; σ is the change in standard "
			"deviations of the sample counts.\n\n"
			"[Flame graph](<https://ci.example/1>)\n");
}

static void growth_beyond_the_threshold_fails(void **state)
{
	const struct command_result *r;

	write_both();
	r = RUN("ci", "-b", "base.folded", "--profile", "now.folded", "--fail-above", "5", "-o",
		"ci.md", "-l", "1");
	assert_int_equal(r->status, 1);
	assert_string_equal(r->out, "");
	assert_string_equal(r->err, "cameo ci: \"parse\" grew by 200.00% of the total, more than "
				    "5%\n");
	char *text = file_read("ci.md");
	assert_non_null(strstr(text, "**Above the threshold:** `\"parse\" grew by 200.00% of"));
	assert_non_null(strstr(text, "\n1 more grew.\n"));
	free(text);
	r = RUN("ci", "-b", "base.folded", "--profile", "base.folded", "--fail-above", "5");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "No function, nor the total, grew by more than 5 % of the "
				       "total."));
	assert_non_null(strstr(r->out, "0 further functions"));
}

static void the_page_is_of_the_difference(void **state)
{
	char *page;

	write_both();
	assert_int_equal(
		RUN("ci", "-b", "base.folded", "--profile", "now.folded", "--html", "x.html")
			->status,
		0);
	page = file_read("x.html");
	assert_non_null(strstr(page, "<title>base.folded - now.folded"));
	free(page);
	assert_non_null(strstr(RUN("ci", "--profile", "now.folded", "--html", "x.html")->out,
			       "Flame graph: `x.html`"));
	page = file_read("x.html");
	assert_non_null(strstr(page, "<title>Profile"));
	free(page);
}

static void names_cannot_act_as_markup(void **state)
{
	const struct command_result *r;

	file_write("base.folded", "a|b 10\n`x` @all 10\n");
	file_write("now.folded", "a|b 200\n`x` @all 200\n");
	r = RUN("ci", "-b", "base.folded", "--profile", "now.folded");
	assert_non_null(strstr(r->out, "| <code>a&#124;b</code> |\n"));
	assert_non_null(strstr(r->out, "| `` `x` @all `` |\n"));
}

static void a_base_may_be_missing(void **state)
{
	const struct command_result *r;

	write_both();
	command_failed(RUN("ci", "-b", "gone.pb.gz", "--profile", "now.folded"), "ci", 1,
		       "\"gone.pb.gz\"");
	r = RUN("ci", "-b", "gone.pb.gz", "--optional-base", "--profile", "now.folded",
		"--fail-above", "1", "-l", "2");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "### Profile\n\nThere is no base profile `gone.pb.gz` yet, so "
				    "nothing is compared.\n\n`samples`: 251.\n\n"
				    "| self | total | function |\n| ---: | ---: | --- |\n"
				    "| 87.65 % | 91.63 % | `parse` |\n"
				    "| 9.96 % | 9.96 % | `alloc` |\n");
	/* A base that exists but is wrong is not missing. */
	file_write("bad.pb.gz", "This is not a profile.\n");
	command_failed(RUN("ci", "-b", "bad.pb.gz", "--optional-base", "--profile", "now.folded"),
		       "ci", 1, "\"bad.pb.gz\"");
}

static void a_command_is_recorded_and_compared(void **state)
{
	const struct command_result *r;

	kernel->n_per_read = 5;
	r = RUN("ci", "-F", "50", "-s", "base.folded", "--", "sh", "-c", "sleep 0.2");
	assert_int_equal(r->status, 0);
	assert_int_equal(kernel->freq_hz, 50);
	assert_true(kernel->is_targets_only);
	assert_non_null(strstr(r->out, "Command: `sh -c sleep 0.2`.\n"));
	assert_non_null(strstr(r->err, "cameo: wrote base.folded\n"));
	/* The base is read before the recording replaces it. */
	r = RUN("ci", "-b", "base.folded", "-s", "base.folded", "--html", "x.html", "--", "sh",
		"-c", "sleep 0.2");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "Base: `base.folded`.\n"));
	free(file_read("x.html"));
	assert_int_equal(file_count(), 2);
}

static void the_exit_status_is_that_of_the_command(void **state)
{
	const struct command_result *r;

	kernel->n_per_read = 5;
	file_write("base.folded", "other 1000000\n");
	r = RUN("ci", "-b", "base.folded", "--fail-above", "0", "--", "sh", "-c",
		"sleep 0.1; exit 3");
	assert_int_equal(r->status, 3);
	assert_non_null(strstr(r->out, "**The command failed**: `sh -c sleep 0.1; exit 3` ended "
				       "with exit status 3"));
	assert_int_equal(RUN("ci", "--", "sh", "-c", "sleep 0.1; kill -KILL $$")->status,
			 128 + SIGKILL);
	command_failed(RUN("ci", "-s", "x.folded", "--", "/no/such/command"), "ci", 127,
		       "/no/such/command");
}

static void a_profile_without_samples_is_an_error(void **state)
{
	const struct command_result *r;

	r = RUN("ci", "--", "true");
	assert_int_equal(r->status, 1);
	assert_string_equal(r->out, "");
	assert_non_null(strstr(r->err, "cameo ci: \"cameo.pb.gz\" has no samples"));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "ci" }, "either a command or --profile" },
		{ { "ci", "--profile", "now.folded", "true" }, "either a command or --profile" },
		{ { "ci", "--fail-above", "5", "--", "true" }, "require --base" },
		{ { "ci", "--optional-base", "--", "true" }, "require --base" },
		{ { "ci", "--save", "x.svg", "--", "true" }, "cannot be read again" },
		{ { "ci", "--save", "-", "--", "true" }, "--save" },
		{ { "ci", "--link", "javascript:1", "--", "true" }, "--link" },
		{ { "ci", "--link", "http://x/) b", "--", "true" }, "--link" },
		{ { "ci", "--limit", "0", "--", "true" }, "--limit" },
		{ { NULL }, NULL },
	};

	write_both();
	command_refuses(bad);
	command_failed(RUN("ci", "-o", "no/dir/x.md", "--", "touch", "ran"), "ci", 1,
		       "no/dir/x.md");
	command_failed(RUN("ci", "-b", "missing", "--", "touch", "ran"), "ci", 1, "\"missing\"");
	assert_int_equal(file_count(), 2);
}

TEST_GROUP(test_ci, COMMAND_TEST(changes_are_listed_by_direction),
	   COMMAND_TEST(growth_beyond_the_threshold_fails),
	   COMMAND_TEST(the_page_is_of_the_difference), COMMAND_TEST(names_cannot_act_as_markup),
	   COMMAND_TEST(a_base_may_be_missing), COMMAND_TEST(a_command_is_recorded_and_compared),
	   COMMAND_TEST(the_exit_status_is_that_of_the_command),
	   COMMAND_TEST(a_profile_without_samples_is_an_error),
	   COMMAND_TEST(wrong_command_lines_are_refused))
