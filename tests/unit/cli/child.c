/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

static struct child start(char **argv)
{
	struct child c = CHILD_NONE;
	struct rlimit n_files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &n_files), 0);
	assert_int_equal(child_start(&c, argv, &n_files, NULL), 0);
	return c;
}

static void its_exit_status_is_that_of_a_shell(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = { { "exit 0", 0 }, { "exit 42", 42 }, { "kill -TERM $$", 128 + SIGTERM } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = { (char *)"sh", (char *)"-c", (char *)cases[i].script, NULL };
		struct child c = start(argv);

		assert_int_equal(child_release(&c, argv[0], NULL), 0);
		assert_int_equal(child_wait(&c), cases[i].status);
		child_fini(&c);
	}
}

static void a_command_that_cannot_run_is_reported(void **state)
{
	char *missing[] = { (char *)"/no/such/command", NULL }, *dir[] = { (char *)"/tmp", NULL };
	struct child c = start(missing);
	struct err err = { 0 };

	assert_int_equal(child_release(&c, missing[0], &err), -ENOENT);
	assert_string_equal(err.msg, "cannot run \"/no/such/command\": command not found");
	child_fini(&c);
	c = start(dir);
	assert_int_equal(child_release(&c, dir[0], NULL), -EACCES);
	child_fini(&c);
}

static void a_child_that_is_not_released_never_runs(void **state)
{
	char path[] = "/tmp/cameo-child.XXXXXX";
	char *argv[] = { (char *)"touch", path, NULL };
	struct child c;

	assert_int_equal(rmdir(mkdtemp(path)), 0);
	c = start(argv);
	child_fini(&c);
	assert_int_equal(access(path, F_OK), -1);
}

TEST_GROUP(test_child, TEST(its_exit_status_is_that_of_a_shell),
	   TEST(a_command_that_cannot_run_is_reported),
	   TEST(a_child_that_is_not_released_never_runs))
