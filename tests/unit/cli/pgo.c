/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo pgo`: how it refuses. tests/e2e/pgo.py has real compilers read what it writes. */
/* covers: src/cli/pgo_llvm.c */
#include "tests/unit/cli/command.h"

static void recordings_without_lines_are_refused(void **state)
{
	file_write("a.folded", "main;f 3\n");
	command_failed(RUN("pgo", "go", "a.folded"), "pgo", 1, "no samples of Go code with lines");
	command_failed(RUN("pgo", "llvm", "a.folded"), "pgo", 1, "no samples of a program");
	command_failed(RUN("pgo", "llvm", "--binary", "x", "a.folded"), "pgo", 1,
		       "no samples of a program in \"x\"");
	command_failed(RUN("pgo", "go", "none.pb.gz"), "pgo", 1, "none.pb.gz");
	command_failed(RUN("pgo", "go"), "pgo", 1, "cameo.pb.gz");
	assert_int_equal(file_count(), 1);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "pgo" }, "expected the compiler: go or llvm" },
		{ { "pgo", "bolt", "a" }, "expected the compiler: go or llvm" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
}

TEST_GROUP(test_pgo, COMMAND_TEST(recordings_without_lines_are_refused),
	   COMMAND_TEST(wrong_command_lines_are_refused))
