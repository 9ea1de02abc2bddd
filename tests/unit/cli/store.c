/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo store`: its command line; tests/server/store.py tests what it does. */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/cli/command.h"

static void an_empty_store_has_nothing_to_do(void **state)
{
	assert_int_equal(mkdir("data", 0700), 0);
	assert_int_equal(RUN("store", "check", "data")->status, 0);
	assert_int_equal(RUN("store", "compact", "data")->status, 0);
	assert_int_equal(RUN("store", "backup", "data", "copy")->status, 0);
	assert_int_equal(RUN("store", "restore", "again", "copy")->status, 0);
	assert_int_equal(RUN("store", "info", "again")->status, 0);
	assert_string_equal(RUN("store", "delete", "data", "-t", "a", "--from", "now-1h")->out,
			    "0 profiles deleted\n");
	assert_int_equal(file_count(), 3);
}

static void what_is_not_a_store_is_named(void **state)
{
	assert_int_equal(mkdir("data", 0700), 0);
	file_write("data/notes", "text");
	command_failed(RUN("store", "check", "data"), "store", 1, "not a store of Cameo");
	command_failed(RUN("store", "check", "missing"), "store", 1, "missing");
	command_failed(RUN("store", "compact", "data/notes"), "store", 1, "Not a directory");
	command_failed(RUN("store", "backup", "missing", "copy"), "store", 1, "missing");
	command_failed(RUN("store", "restore", "data", "missing"), "store", 1, "missing");
	assert_int_equal(file_count(), 1);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "store" }, "expected backup, check" },
		{ { "store", "look", "data" }, "expected backup, check" },
		{ { "store", "check" }, "one directory" },
		{ { "store", "check", "a", "b" }, "one directory" },
		{ { "store", "backup", "a" }, "two directories" },
		{ { "store", "check", "a", "--tenant", "b" }, "accepts no options" },
		{ { "store", "delete", "a" }, "requires --tenant" },
		{ { "store", "delete", "a", "--tenant", "b" }, "requires --tenant" },
		{ { "store", "delete", "a", "-t", "../b", "--from", "0" }, "not a name" },
		{ { "store", "delete", "a", "-t", "b", "-s", "{x" }, "--selector \"{x\"" },
		{ { "store", "delete", "a", "-t", "b", "--until", "noon" }, "--until \"noon\"" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(file_count(), 0);
}

TEST_GROUP(test_store, COMMAND_TEST(an_empty_store_has_nothing_to_do),
	   COMMAND_TEST(what_is_not_a_store_is_named),
	   COMMAND_TEST(wrong_command_lines_are_refused))
