/* SPDX-License-Identifier: Apache-2.0 */
/* The subject is a process whose main thread ends before the others. */
#include "proc/stat.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "proc/memory.h"
#include "tests/test.h"

static void a_process_lives_as_long_as_its_last_thread(void **state)
{
	pid_t pid = child_start(true);

	while (proc_main_thread_is_alive(pid))
		usleep(1000);
	assert_true(proc_is_alive(pid));
	child_end(pid);
	assert_false(proc_is_alive(pid));
}

/* Files that /proc/PID does not show any more are read through another thread. */
static void another_thread_stands_for_an_ended_main_thread(void **state)
{
	static volatile uint64_t value = 4711;
	pid_t pid = child_start(false), alone;
	uint64_t read = 0;
	int tid;

	assert_int_equal(proc_living_thread(pid), pid);
	child_end(pid);
	assert_int_equal(proc_living_thread(pid), -ESRCH);
	alone = child_start(true);
	while (proc_main_thread_is_alive(alone))
		usleep(1000);
	tid = proc_living_thread(alone);
	assert_true(tid > 0 && tid != alone);
	assert_int_equal(proc_memory_read((uint32_t)alone, (uintptr_t)&value, &read, sizeof(read)),
			 0);
	assert_int_equal(read, value);
	child_end(alone);
}

static void a_zombie_is_not_alive(void **state)
{
	pid_t pid = child_start(false);

	assert_true(proc_is_alive(pid));
	assert_true(proc_main_thread_is_alive(pid));
	assert_return_code(kill(pid, SIGKILL), 0);
	while (proc_is_alive(pid))
		usleep(1000);
	assert_false(proc_main_thread_is_alive(pid));
	assert_return_code(waitpid(pid, NULL, 0), 0);
}

static void a_program_has_a_start_of_its_code(void **state)
{
	extern const char __executable_start[], etext[];
	uint64_t start = proc_start_code((int)getpid());

	assert_true(start >= (uintptr_t)__executable_start && start < (uintptr_t)etext);
	assert_int_equal(proc_start_code(0), 0);
}

TEST_GROUP(test_stat, TEST(a_program_has_a_start_of_its_code),
	   TEST(a_process_lives_as_long_as_its_last_thread), TEST(a_zombie_is_not_alive),
	   TEST(another_thread_stands_for_an_ended_main_thread))
