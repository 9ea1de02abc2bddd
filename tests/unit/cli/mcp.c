/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo mcp` on known profiles: the text of each tool, and that a client can read nothing else.
 *
 * covers: src/cli/mcp_tools.c src/cli/mcp_source.c src/cli/incomplete.c src/cli/calls_walk.c
 */
#include <stdio.h>

#include "cli/incomplete.h"
#include "tests/unit/cli/command.h"
#include "unwind/walk.h"

static const char BEFORE[] =
	"app;main;parse 60\napp;main;draw 30\napp;[incomplete: no unwind rule];f 10\n";
static const char AFTER[] = "app;main;parse 460\napp;main;draw 30\napp;[incomplete: more];f 10\n";

#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n" \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

/* The text of the tool's result, or of its error if @failed, as JSON. Valid until the next call. */
static const char *call(const char *tool, const char *arguments, bool failed)
{
	const struct command_result *r;
	char input[2048];
	const char *response;

	file_write("a.folded", BEFORE);
	file_write("b.folded", AFTER);
	snprintf(input, sizeof(input),
		 INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
			    "\"name\":\"%s\",\"arguments\":%s}}\n",
		 tool, arguments);
	r = RUN_WITH(input, "mcp", "a.folded", "b.folded");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	response = strchr(r->out, '\n') + 1;
	if (!strstr(response, failed ? "\"isError\":true" : "\"isError\":false"))
		fail_msg("%s %s: %s", tool, arguments, response);
	return strstr(response, "\"text\":\"") + strlen("\"text\":\"");
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s\nlacks %s", text, part);
}

static void sources_are_listed(void **state)
{
	const char *text = call("list_services", "{}", false);

	expect_part(text,
		    "1. a.folded: profile; sample types: samples/count; 0.0 s; processes:\\n");
	expect_part(text, "\\n2. b.folded: profile;");
}

static void top_functions_are_those_of_the_source(void **state)
{
	expect_part(call("top_functions", "{\"limit\":1}", false),
		    "samples: 100 total\\n        self   self%        total  total%\\n"
		    "          60  60.00%           60  60.00%  parse\\n");
	expect_part(call("top_functions", "{\"source\":\"b.folded\"}", false),
		    "         460  92.00%          460  92.00%  parse\\n");
	expect_part(call("top_functions", "{\"source\":\"2\",\"by\":\"binary\"}", false),
		    "[unknown binary]");
}

static void callers_are_a_tree(void **state)
{
	expect_part(call("callers", "{\"function\":\"draw\"}", false),
		    "The children of a line are its callers.\\n"
		    "        self   self%        total  total%\\n");
	expect_part(call("callers", "{\"function\":\"draw\"}", false),
		    "30.00%  draw\\n           0   0.00%           30  30.00%   main\\n");
	expect_part(call("callees", "{\"function\":\"main\"}", false), "60.00%   parse\\n");
	expect_part(call("callees", "{\"function\":\"main\",\"limit\":1}", false),
		    "(more rows were omitted");
}

static void comparisons_have_the_verdict_of_diff(void **state)
{
	expect_part(call("compare", "{\"normalize\":\"no\",\"limit\":1}", false),
		    "samples: 100 before, 500 after (+400.00%, more)\\n"
		    "self before  self after      self          total\\n"
		    "         60         460  +400.00% more   +400.00% more   parse\\n");
	expect_part(call("compare", "{}", false), "compared as shares of the total");
	expect_part(call("compare", "{\"before\":\"2\",\"after\":\"2\"}", false),
		    "(+0.00%, noise)");
}

static void incomplete_stacks_are_explained(void **state)
{
	expect_part(call("explain_incomplete", "{}", false),
		    "\\n10 (10.00%): no unwind rule. The file has unwind information, but none");
	expect_part(call("explain_incomplete", "{\"source\":\"2\"}", false),
		    "10 (2.00%): more. This reason is not known to this version.\\n");
}

static void every_reason_has_an_explanation(void **state)
{
	size_t n = 0;

	for (uint64_t why = 1; why < 256; why++) {
		const char *reason = unwind_error_text(why);

		if (!strcmp(reason, "unknown reason"))
			continue;
		n++;
		if (!incomplete_explanation(reason))
			fail_msg("no explanation of \"%s\"", reason);
	}
	assert_true(n > 10);
}

static void a_client_reads_only_the_sources(void **state)
{
	expect_part(call("top_functions", "{\"source\":\"/etc/passwd\"}", true), "unknown source");
	expect_part(call("top_functions", "{\"source\":\"3\"}", true), "unknown source");
	expect_part(call("top_functions", "{\"source\":\"0\"}", true), "unknown source");
	expect_part(call("top_functions", "{\"source\":\"\"}", true), "unknown source");
	expect_part(call("top_functions", "{\"service\":\"x\"}", true), "source 1 is a file");
	expect_part(call("top_functions", "{\"sample_type\":\"heap\"}", true), "heap");
	expect_part(call("top_functions", "{\"by\":\"colour\"}", true), "by");
	expect_part(call("callers", "{\"function\":\"none\"}", true), "no function");
	expect_part(call("compare", "{\"normalize\":\"maybe\"}", true), "expected yes or no");
}

static void long_and_broken_input_does_not_end_it(void **state)
{
	static char input[200000];
	const struct command_result *r;
	size_t n = 0;

	file_write("a.folded", BEFORE);
	memset(input, '{', 150000);
	n = 150000;
	n += (size_t)sprintf(input + n, "\n\n  \r\nnonsense\n" INITIALIZE);
	sprintf(input + n, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n{\"half");
	r = RUN_WITH(input, "mcp", "a.folded");
	assert_int_equal(r->status, 0);
	expect_part(r->out, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
			    "\"message\":\"the message is too long\"}}\n");
	expect_part(r->out, "\"invalid JSON\"}}\n{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":");
	expect_part(r->out, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "mcp" }, "expected a profile" },
		{ { "mcp", "-" }, "standard input" },
		{ { "mcp", "--write" }, "--write" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
}

TEST_GROUP(test_mcp, COMMAND_TEST(sources_are_listed),
	   COMMAND_TEST(top_functions_are_those_of_the_source), COMMAND_TEST(callers_are_a_tree),
	   COMMAND_TEST(comparisons_have_the_verdict_of_diff),
	   COMMAND_TEST(incomplete_stacks_are_explained),
	   COMMAND_TEST(every_reason_has_an_explanation),
	   COMMAND_TEST(a_client_reads_only_the_sources),
	   COMMAND_TEST(long_and_broken_input_does_not_end_it),
	   COMMAND_TEST(wrong_command_lines_are_refused))
