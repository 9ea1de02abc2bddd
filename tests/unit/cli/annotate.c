/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo annotate`, on profiles with known lines. */
/* covers: src/cli/annotate_source.c src/cli/annotate_code.c src/cli/recorded_file.c */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"

/* main() at @file:9 calls work() at @file:3, which has 3 of 4 samples, and @file:4 has 1. */
#define PROFILE(file)                                                                              \
	"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","                     \
	"\"shared\":{\"frames\":["                                                                 \
	"{\"name\":\"main\",\"file\":\"" file "\",\"line\":9},"                                    \
	"{\"name\":\"work\",\"file\":\"" file "\",\"line\":3},"                                    \
	"{\"name\":\"work\",\"file\":\"" file "\",\"line\":4}]},"                                  \
	"\"profiles\":[{\"type\":\"sampled\",\"name\":\"p\",\"unit\":\"none\",\"startValue\":0,"   \
	"\"endValue\":4,\"samples\":[[0,1],[0,2]],\"weights\":[3,1]}]}"

static const char SOURCE[] = "one\n\ttwo\nthree\nfour\nfive\nsix\nseven\nlast\n";

#define COLUMNS "        self   self%        total  total%    line\n"
#define EMPTY   "           .                    .         "

static void lines_are_shown_with_their_values(void **state)
{
	const struct command_result *r;

	file_write("a.json", PROFILE("a.c"));
	file_write("a.c", SOURCE);
	r = RUN("annotate", "--context", "1", "work", "a.json");
	assert_string_equal(r->err, "");
	assert_string_equal(
		r->out,
		"work: p self 4 (100.00%), total 4 (100.00%) of 4\n\na.c\n" COLUMNS EMPTY
		"     2          two\n"
		"           3  75.00%            3  75.00%      3  three\n"
		"           1  25.00%            1  25.00%      4  four\n" EMPTY "     5  five\n");
}

static void a_missing_source_is_reported(void **state)
{
	const struct command_result *r;

	file_write("a.json", PROFILE("/no/such/a.c"));
	r = RUN("annotate", "work", "a.json");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "note: cannot read this source: no such file"));
	assert_non_null(strstr(r->out, "75.00%      3\n"));
	file_write("a.json", PROFILE(""));
	assert_non_null(strstr(RUN("annotate", "work", "a.json")->out, "has no source file"));
}

static void sources_are_mapped_to_other_directories(void **state)
{
	assert_int_equal(mkdir("src", 0755), 0);
	file_write("src/a.c", SOURCE);
	file_write("secret.c", "hidden\nhidden\nhidden\nhidden\n");
	file_write("a.json", PROFILE("/build/a.c"));
	assert_non_null(strstr(RUN("annotate", "--source-map", "/build=src", "work", "a.json")->out,
			       "three"));
	/* the mapped path does not leave the directory, neither by ".." nor by a link */
	file_write("b.json", PROFILE("/build/../secret.c"));
	assert_null(strstr(RUN("annotate", "--source-map", "/build=src", "work", "b.json")->out,
			   "hidden"));
	assert_int_equal(unlink("src/a.c"), 0);
	assert_int_equal(symlink("../secret.c", "src/a.c"), 0);
	assert_null(strstr(RUN("annotate", "--source-map", "/build=src", "work", "a.json")->out,
			   "hidden"));
}

static void what_is_no_text_is_not_printed(void **state)
{
	const struct command_result *r;

	file_write("a.json", PROFILE("a.c"));
	file_write("a.c", "one\ntwo\n\033[31mthree\nfour\n");
	r = RUN("annotate", "work", "a.json");
	assert_null(strchr(r->out, '\033'));
	assert_non_null(strstr(r->out, " [31mthree\n"));
	assert_int_equal(unlink("a.c"), 0);
	assert_int_equal(mkfifo("a.c", 0600), 0);
	r = RUN("annotate", "work", "a.json");
	assert_non_null(strstr(r->out, "note: cannot read this source"));
	file_write("short.c", "one\n");
	file_write("b.json", PROFILE("short.c"));
	assert_non_null(strstr(RUN("annotate", "work", "b.json")->out, "has fewer lines"));
}

static void an_unknown_function_is_an_error(void **state)
{
	file_write("a.json", PROFILE("a.c"));
	command_failed(RUN("annotate", "werk", "a.json"), "annotate", 1,
		       "the profile has no function \"werk\"; similar: work");
	command_failed(RUN("annotate", "draw_everything", "a.json"), "annotate", 1,
		       "the profile has no function \"draw_everything\"");
	command_failed(RUN("annotate", "--asm", "work", "a.json"), "annotate", 1,
		       "the profile has no addresses of this function");
	command_failed(RUN("annotate", "work", "none.json"), "annotate", 1, "none.json");
	command_failed(RUN("annotate", "work"), "annotate", 1, "cameo.pb.gz");
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "annotate" }, "expected the name of a function" },
		{ { "annotate", "--source-map", "x", "f" }, "expected FROM=TO" },
		{ { "annotate", "--source-map", "=x", "f" }, "expected FROM=TO" },
		{ { "annotate", "--source-map", "x=/no/such", "f" }, "there is no directory" },
		{ { "annotate", "--context", "many", "f" }, "--context" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
}

TEST_GROUP(test_annotate, COMMAND_TEST(lines_are_shown_with_their_values),
	   COMMAND_TEST(a_missing_source_is_reported),
	   COMMAND_TEST(sources_are_mapped_to_other_directories),
	   COMMAND_TEST(what_is_no_text_is_not_printed),
	   COMMAND_TEST(an_unknown_function_is_an_error),
	   COMMAND_TEST(wrong_command_lines_are_refused))
