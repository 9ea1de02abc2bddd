/* SPDX-License-Identifier: Apache-2.0 */
/* The subject is a process whose main thread ends before the others. */
#include "proc/stat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/memory.h"
#include "tests/test.h"

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static pid_t start_child(bool first_ends)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid != 0)
		return pid;
	if (first_ends && pthread_create(&t, NULL, wait_for_ever, NULL) == 0)
		pthread_exit(NULL);
	wait_for_ever(NULL);
	return 0;
}

static void end_child(pid_t pid)
{
	assert_return_code(kill(pid, SIGKILL), 0);
	assert_return_code(waitpid(pid, NULL, 0), 0);
}

static void a_process_lives_as_long_as_its_last_thread(void **state)
{
	pid_t pid = start_child(true);

	while (proc_main_thread_is_alive(pid))
		usleep(1000);
	assert_true(proc_is_alive(pid));
	end_child(pid);
	assert_false(proc_is_alive(pid));
}

/* What /proc/PID does not show any more is read through another thread. */
static void another_thread_stands_for_an_ended_main_thread(void **state)
{
	static volatile uint64_t value = 4711;
	pid_t pid = start_child(false), alone;
	uint64_t read = 0;
	int tid;

	assert_int_equal(proc_living_thread(pid), pid);
	end_child(pid);
	assert_int_equal(proc_living_thread(pid), -ESRCH);
	alone = start_child(true);
	while (proc_main_thread_is_alive(alone))
		usleep(1000);
	tid = proc_living_thread(alone);
	assert_true(tid > 0 && tid != alone);
	assert_int_equal(proc_memory_read((uint32_t)alone, (uintptr_t)&value, &read, sizeof(read)),
			 0);
	assert_int_equal(read, value);
	end_child(alone);
}

static void a_zombie_is_not_alive(void **state)
{
	pid_t pid = start_child(false);

	assert_true(proc_is_alive(pid));
	assert_true(proc_main_thread_is_alive(pid));
	assert_return_code(kill(pid, SIGKILL), 0);
	while (proc_is_alive(pid))
		usleep(1000);
	assert_false(proc_main_thread_is_alive(pid));
	assert_return_code(waitpid(pid, NULL, 0), 0);
}

TEST_GROUP(test_stat, TEST(a_process_lives_as_long_as_its_last_thread), TEST(a_zombie_is_not_alive),
	   TEST(another_thread_stands_for_an_ended_main_thread))
