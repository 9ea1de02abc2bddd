/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/root.h"

#include <errno.h>
#include <unistd.h>

#include "child.h"
#include "proc/stat.h"
#include "tests/test.h"

static void assert_own_root(pid_t pid)
{
	int own = proc_root_open((int)getpid()), fd = proc_root_open((int)pid);

	assert_return_code(own, 0);
	assert_return_code(fd, 0);
	assert_true(proc_root_same(own, fd));
	close(fd);
	close(own);
}

static void a_child_has_the_root_of_its_parent(void **state)
{
	pid_t pid = child_start(false);

	(void)state;
	assert_own_root(pid);
	child_end(pid);
}

static void another_thread_has_the_root_of_an_ended_main_thread(void **state)
{
	pid_t pid = child_start(true);

	(void)state;
	while (proc_main_thread_is_alive(pid))
		usleep(1000);
	assert_own_root(pid);
	child_end(pid);
}

static void a_process_that_is_gone_has_no_root(void **state)
{
	pid_t pid = child_start(false);

	(void)state;
	child_end(pid);
	assert_int_equal(proc_root_open((int)pid), -ESRCH);
}

TEST_GROUP(test_root, TEST(a_child_has_the_root_of_its_parent),
	   TEST(another_thread_has_the_root_of_an_ended_main_thread),
	   TEST(a_process_that_is_gone_has_no_root))
