/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"
#include "tests/unit/cli/command.h"

static void wrong_command_lines_are_refused(void **state)
{
	command_failed(RUN("tasks"), "tasks", 2, "expected --pid PID");
	command_failed(RUN("tasks", "-p", "1", "x"), "tasks", 2, "expected --pid PID");
	command_failed(RUN("tasks", "-p", "1", "--json", "--folded"), "tasks", 2, "exclude");
	command_failed(RUN("tasks", "-p", "1", "--to", "pprof"), "tasks", 2, "--output");
	command_failed(RUN("tasks", "-p", "1", "--snapshots", "3"), "tasks", 2, "--watch");
	command_failed(RUN("tasks", "-p", "1", "-w", "1", "--folded"), "tasks", 2, "--watch");
	command_failed(RUN("tasks", "-p", "1", "-o", "x.unknown"), "tasks", 2, "x.unknown");
}

TEST_GROUP(test_tasks, COMMAND_TEST(wrong_command_lines_are_refused))
