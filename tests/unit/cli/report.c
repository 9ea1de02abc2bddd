/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo report`: what it prints of known stacks, and how it refuses. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"

/* 100 samples, so that values are percentages. */
static const char STACKS[] = "main;parse;alloc 60\n"
			     "main;parse 20\n"
			     "main;draw;alloc 15\n"
			     "idle;wait 5\n";

#define HEAD "        self   self%        total  total%\n"

static void prints(const struct command_result *r, const char *expected)
{
	assert_string_equal(r->err, "");
	assert_string_equal(r->out, expected);
	assert_int_equal(r->status, 0);
}

static void the_table_has_self_and_total_of_each_function(void **state)
{
	file_write("a.folded", STACKS);
	prints(RUN("report", "a.folded"),
	       "samples: 100 total\n" HEAD "          75  75.00%           75  75.00%  alloc\n"
	       "          20  20.00%           80  80.00%  parse\n"
	       "           5   5.00%            5   5.00%  wait\n"
	       "           0   0.00%           95  95.00%  main\n"
	       "           0   0.00%           15  15.00%  draw\n"
	       "           0   0.00%            5   5.00%  idle\n");
}

static void a_recursive_function_counts_once_in_its_total(void **state)
{
	prints(RUN_WITH("f;f;f 4\nf;g;f 1\n", "report", "-"),
	       "samples: 5 total\n" HEAD "           5 100.00%            5 100.00%  f\n"
	       "           0   0.00%            1  20.00%  g\n");
}

static void several_profiles_are_merged(void **state)
{
	file_write("a", "main;f 1\n");
	prints(RUN_WITH("main;f 2\nmain;g 1\n", "report", "a", "-", "a", "--limit", "1"),
	       "samples: 5 total\n" HEAD "           4  80.00%            4  80.00%  f\n");
}

static void the_tree_has_the_largest_branch_first(void **state)
{
	file_write("a.folded", STACKS);
	prints(RUN("report", "--tree", "a.folded"),
	       "samples: 100 total\n" HEAD "           0   0.00%           95  95.00%  main\n"
	       "          20  20.00%           80  80.00%   parse\n"
	       "          60  60.00%           60  60.00%    alloc\n"
	       "           0   0.00%           15  15.00%   draw\n"
	       "          15  15.00%           15  15.00%    alloc\n"
	       "           0   0.00%            5   5.00%  idle\n"
	       "           5   5.00%            5   5.00%   wait\n");
}

static void callers_are_an_inverted_tree(void **state)
{
	file_write("a.folded", STACKS);
	prints(RUN("report", "--callers=alloc", "a.folded", "--min=20"),
	       "samples: 100 total, of which 75 (75.0%) match\n" HEAD
	       "           0   0.00%           75  75.00%  alloc\n"
	       "           0   0.00%           60  60.00%   parse\n"
	       "          60  60.00%           60  60.00%    main\n");
	prints(RUN("report", "--callees=parse", "a.folded"),
	       "samples: 100 total, of which 80 (80.0%) match\n" HEAD
	       "          20  20.00%           80  80.00%  parse\n"
	       "          60  60.00%           60  60.00%   alloc\n");
}

static void filters_select_stacks_and_percentages_stay_shares_of_all(void **state)
{
	file_write("a.folded", STACKS);
	prints(RUN("report", "--focus", "al+oc", "--ignore", "^draw$", "a.folded"),
	       "samples: 100 total, of which 60 (60.0%) match\n" HEAD
	       "          60  60.00%           60  60.00%  alloc\n"
	       "           0   0.00%           60  60.00%  main\n"
	       "           0   0.00%           60  60.00%  parse\n");
	prints(RUN("report", "--focus", "nothing", "a.folded"),
	       "samples: 100 total, of which 0 (0.0%) match\n" HEAD);
	/* The last of several expressions counts. */
	prints(RUN("report", "--focus", "draw", "--focus", "idle", "--limit=1", "a.folded"),
	       "samples: 100 total, of which 5 (5.0%) match\n" HEAD
	       "           5   5.00%            5   5.00%  wait\n");
}

/* Reads the object in which the JSON of a report consists: the sum of self of all its nodes. */
static int64_t sum_of_self(const char *json)
{
	int64_t sum = 0;

	for (const char *p = json; (p = strstr(p, "\"self\":")); p++)
		sum += strtoll(p + strlen("\"self\":"), NULL, 10);
	return sum;
}

/* Do brackets and braces match, outside of strings? */
static bool is_balanced(const char *json)
{
	static char open[1 << 16];
	size_t depth = 0;
	bool quoted = false;

	for (; *json; json++) {
		if (*json == '"')
			quoted = !quoted;
		else if (*json == '\\' && quoted && json[1])
			json++;
		else if (!quoted && strchr("[{", *json) && depth < sizeof(open))
			open[depth++] = *json;
		else if (!quoted && strchr("]}", *json) &&
			 (!depth || open[--depth] != (*json == ']' ? '[' : '{')))
			return false;
	}
	return !depth && !quoted;
}

static void json_holds_the_same_as_text(void **state)
{
	const struct command_result *r;

	file_write("a.folded", STACKS);
	prints(RUN("report", "--json", "--min=70%", "a.folded"),
	       "{\"type\":\"samples\",\"unit\":\"count\",\"total\":100,\"counted\":100,"
	       "\"period\":0,\"duration_ns\":0,\"rows\":["
	       "{\"name\":\"alloc\",\"self\":75,\"total\":75},"
	       "{\"name\":\"parse\",\"self\":20,\"total\":80},"
	       "{\"name\":\"main\",\"self\":0,\"total\":95}]}\n");
	r = RUN("report", "--json", "--tree", "a.folded");
	assert_int_equal(r->status, 0);
	assert_true(is_balanced(r->out));
	assert_int_equal(sum_of_self(r->out), 100);
	r = RUN("report", "--json", "--tree", "--limit", "1", "a.folded");
	assert_true(is_balanced(r->out));
	assert_int_equal(sum_of_self(r->out), 80);
}

static void a_tree_of_thousands_of_levels_is_printed(void **state)
{
	enum { LEVELS = 3000 };
	static char stack[LEVELS * 8];
	char *p = stack;
	const struct command_result *r;

	for (int i = 0; i < LEVELS; i++)
		p += sprintf(p, "%sf%d", i ? ";" : "", i);
	strcpy(p, " 1\n");
	file_write("deep.folded", stack);
	r = RUN("report", "--tree", "deep.folded");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, " (2999) f2999\n"));
	r = RUN("report", "--tree", "--json", "deep.folded");
	assert_int_equal(r->status, 0);
	assert_true(is_balanced(r->out));
}

static void names_cannot_control_the_terminal(void **state)
{
	const struct command_result *r;

	r = RUN_WITH("main;\x1b]0;title\x07;\xc2\x9b"
		     "2J 1\n",
		     "report", "-", "--from", "folded");
	assert_int_equal(r->status, 0);
	assert_null(strchr(r->out, '\x1b'));
	assert_null(strchr(r->out, '\x07'));
	assert_null(strchr(r->out, '\xc2'));
	r = RUN_WITH("main;\"\\\n 1\n", "report", "-", "--json");
	assert_true(is_balanced(r->out));
}

static void a_profile_without_samples_has_an_empty_table(void **state)
{
	static const char empty[] = "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\","
				    "\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":0,"
				    "\"columnNumber\":0}}],\"startTime\":0,\"endTime\":1,"
				    "\"samples\":[],\"timeDeltas\":[]}";
	const struct command_result *r = RUN_WITH(empty, "report", "-", "--from", "cpuprofile");

	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, " total\n" HEAD));
	assert_string_equal(strstr(r->out, HEAD), HEAD);
}

/* dpkg itself is a file of a package wherever dpkg is. */
static void packages_that_would_name_functions_are_named(void **state)
{
	static const char script[] = "dpkg 1 1.0: 1 cycles:\n"
				     "\t1234 [dpkg+0x1000] (/usr/bin/dpkg)\n\n";
	static const char hint[] = "cameo: these packages would name the functions of samples "
				   "without a symbol: dpkg-dbgsym (100.0 %)\n";

	if (access("/var/lib/dpkg/info/dpkg.list", R_OK) < 0)
		skip();
	assert_string_equal(RUN_WITH(script, "report", "-")->err, hint);
	assert_string_equal(RUN_WITH(script, "report", "-", "--tree")->err, hint);
	assert_string_equal(RUN_WITH(script, "report", "-", "--json")->err, "");
	assert_string_equal(RUN_WITH(script, "report", "-", "--by", "binary")->err, "");
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "report" }, "expected a profile" },
		{ { "report", "a", "--bogus" }, "--bogus" },
		{ { "report", "a", "-x" }, "-x" },
		{ { "report", "a", "--by", "colour" }, "expected function, binary, file" },
		{ { "report", "a", "--by", "label:" }, "--by \"label:\"" },
		{ { "report", "a", "--by" }, "--by" },
		{ { "report", "a", "--limit", "-1" }, "--limit \"-1\"" },
		{ { "report", "a", "--limit", "ten" }, "--limit \"ten\"" },
		{ { "report", "a", "--limit", "99999999999999999999" }, "--limit" },
		{ { "report", "a", "--limit=" }, "--limit \"\"" },
		{ { "report", "a", "--min", "101" }, "between 0 and 100" },
		{ { "report", "a", "--min", "-1" }, "--min \"-1\"" },
		{ { "report", "a", "--focus", "(" }, "invalid regular expression" },
		{ { "report", "a", "--focus", "a", "--focus", "[" }, "invalid regular expression" },
		{ { "report", "a", "--ignore", "a**{" }, "--ignore" },
		{ { "report", "a", "--from", "zip" }, "expected one of pprof, " },
		{ { "report", "a", "--from", "html" }, "expected one of pprof, " },
		{ { "report", "a", "--tree=yes" }, "--tree does not accept a value" },
		{ { "report", "a", "--tree", "--callers", "f" }, "cannot be used together" },
		{ { "report", "a", "--callers", "f", "--callees", "f" },
		  "cannot be used together" },
		{ { "report", "a", "--tree", "--by", "line" }, "--by cannot be used" },
		{ { NULL }, NULL },
	};

	file_write("a", "main;f 1\n");
	command_refuses(bad);
}

static void inputs_that_cannot_be_read_are_named(void **state)
{
	file_write("a.folded", STACKS);
	file_write("text", "This is not a profile.\n");
	file_write("empty", "");
	assert_int_equal(mkdir("dir", 0700), 0);
	command_failed(RUN("report", "missing"), "report", 1, "\"missing\": No such file");
	command_failed(RUN("report", "a.folded", "missing"), "report", 1, "\"missing\"");
	command_failed(RUN("report", "dir"), "report", 1, "\"dir\": Is a directory");
	command_failed(RUN("report", "empty"), "report", 1, "\"empty\"");
	command_failed(RUN("report", "text"), "report", 1, "\"text\": not a profile");
	command_failed(RUN("report", "a.folded", "--from", "pprof"), "report", 1, "\"a.folded\"");
	command_failed(RUN("report", "-"), "report", 1, "standard input");
	command_failed(RUN("report", "a.folded", "--sample-type", "heap"), "report", 1,
		       "expected one of samples");
	command_failed(RUN("report", "a.folded", "--callers", "nobody"), "report", 1,
		       "no function \"nobody\"");
	command_failed(RUN("report", "http://127.0.0.1:1/"), "report", 1, "127.0.0.1:1");
	command_failed(RUN("report", "http://"), "report", 1, "http://");
	assert_int_equal(file_count(), 4);
}

/* Every prefix of a valid file is either refused with one line, or read. */
static void a_truncated_file_is_refused_or_read(void **state)
{
	size_t len;
	int fd;

	file_write("a.folded", STACKS);
	assert_int_equal(RUN("convert", "a.folded", "a.pb.gz")->status, 0);
	fd = open("a.pb.gz", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	len = (size_t)lseek(fd, 0, SEEK_END);
	for (size_t n = len - 1; n > 0; n -= n > 16 ? 16 : 1) {
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		command_failed(RUN("report", "a.pb.gz"), "report", 1, "\"a.pb.gz\"");
	}
	close(fd);
}

TEST_GROUP(test_report, COMMAND_TEST(the_table_has_self_and_total_of_each_function),
	   COMMAND_TEST(a_recursive_function_counts_once_in_its_total),
	   COMMAND_TEST(several_profiles_are_merged),
	   COMMAND_TEST(the_tree_has_the_largest_branch_first),
	   COMMAND_TEST(callers_are_an_inverted_tree),
	   COMMAND_TEST(filters_select_stacks_and_percentages_stay_shares_of_all),
	   COMMAND_TEST(json_holds_the_same_as_text),
	   COMMAND_TEST(a_tree_of_thousands_of_levels_is_printed),
	   COMMAND_TEST(names_cannot_control_the_terminal),
	   COMMAND_TEST(a_profile_without_samples_has_an_empty_table),
	   COMMAND_TEST(packages_that_would_name_functions_are_named),
	   COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(inputs_that_cannot_be_read_are_named),
	   COMMAND_TEST(a_truncated_file_is_refused_or_read))
