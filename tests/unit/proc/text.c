/* SPDX-License-Identifier: Apache-2.0 */
/* The subject is a directory that looks like procfs. */
#include "proc/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

enum { PID = 7 };

static char dir[] = "/tmp/cameo-proc.XXXXXX";

static void in(char out[64], const char *name)
{
	snprintf(out, 64, "%s/%d/%s", dir, PID, name);
}

static int set_up(void **state)
{
	char path[64];
	FILE *f;

	if (!mkdtemp(dir))
		return -1;
	in(path, "");
	if (mkdir(path, 0700) < 0)
		return -1;
	in(path, "status");
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs("Name:\tx\n", f);
	fclose(f);
	in(path, "link");
	return symlink("status", path);
}

static int tear_down(void **state)
{
	static const char *const names[] = { "status", "link", "exe", "" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		in(path, names[i]);
		(void)remove(path);
	}
	return rmdir(dir);
}

static void a_text_is_read_up_to_its_maximum(void **state)
{
	char text[32];

	assert_int_equal(proc_read_text(dir, PID, "status", text, sizeof(text)), 8);
	assert_string_equal(text, "Name:\tx\n");
	assert_int_equal(proc_read_text(dir, PID, "status", text, 5), 4);
	assert_string_equal(text, "Name");
}

static void missing_files_and_links_are_errors(void **state)
{
	char text[32];

	assert_int_equal(proc_read_text(dir, PID, "cgroup", text, sizeof(text)), -ENOENT);
	assert_int_equal(proc_read_text(dir, PID + 1, "status", text, sizeof(text)), -ENOENT);
	assert_int_equal(proc_read_text(dir, PID, "link", text, sizeof(text)), -ELOOP);
}

static void an_executable_is_named_without_deleted(void **state)
{
	static const char *const cases[][2] = { { "/opt/x", "/opt/x" },
						{ "/opt/x (deleted)", "/opt/x" },
						{ " (deleted)", " (deleted)" } };
	char path[64], exe[32];

	assert_int_equal(proc_read_exe(dir, PID, exe, sizeof(exe)), 0);
	assert_string_equal(exe, "");
	in(path, "exe");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unlink(path);
		assert_int_equal(symlink(cases[i][0], path), 0);
		assert_int_equal(proc_read_exe(dir, PID, exe, sizeof(exe)), strlen(cases[i][1]));
		assert_string_equal(exe, cases[i][1]);
	}
	assert_int_equal(proc_read_exe(dir, PID, exe, 4), 3);
}

int test_text(void);

int test_text(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_read_up_to_its_maximum),
		cmocka_unit_test(missing_files_and_links_are_errors),
		cmocka_unit_test(an_executable_is_named_without_deleted),
	};

	return cmocka_run_group_tests_name("text", tests, set_up, tear_down);
}
