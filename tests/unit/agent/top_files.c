/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/top_files.h"

#include <stdio.h>

#include "tests/test.h"

static void the_largest_come_first(void **state)
{
	struct agent_file top[AGENT_TOP_FILES];
	size_t n = 0;

	top_files_add(top, &n, "a", 10, 1);
	top_files_add(top, &n, "b", 30, 3);
	top_files_add(top, &n, "c", 20, 2);
	assert_int_equal(n, 3);
	assert_string_equal(top[0].path, "b");
	assert_string_equal(top[1].path, "c");
	assert_string_equal(top[2].path, "a");
	assert_int_equal(top[0].rows, 3);
}

static void files_of_one_path_are_one(void **state)
{
	struct agent_file top[AGENT_TOP_FILES];
	size_t n = 0;
	char path[300];

	top_files_add(top, &n, "a", 30, 3);
	top_files_add(top, &n, "libc", 20, 2);
	top_files_add(top, &n, "libc", 25, 1);
	assert_int_equal(n, 2);
	assert_string_equal(top[0].path, "libc");
	assert_int_equal(top[0].bytes, 45);
	assert_int_equal(top[0].rows, 3);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	top_files_add(top, &n, path, 1, 1);
	path[sizeof(path) - 2] = 'y';
	top_files_add(top, &n, path, 1, 1);
	assert_int_equal(n, 3);
}

static void only_the_largest_are_kept(void **state)
{
	struct agent_file top[AGENT_TOP_FILES];
	size_t n = 0;
	char path[16];

	for (unsigned int i = 0; i < 100; i++) {
		/* every number below 100 once, in no order */
		snprintf(path, sizeof(path), "%u", i * 37 % 100);
		top_files_add(top, &n, path, i * 37 % 100, 1);
	}
	assert_int_equal(n, AGENT_TOP_FILES);
	for (unsigned int i = 0; i < AGENT_TOP_FILES; i++)
		assert_int_equal(top[i].bytes, 99 - i);
}

TEST_GROUP(test_top_files, TEST(the_largest_come_first), TEST(files_of_one_path_are_one),
	   TEST(only_the_largest_are_kept))
