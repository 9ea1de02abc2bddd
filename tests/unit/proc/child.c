/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static void *wait_for_signals(void *arg)
{
	for (;;)
		pause();
	return arg;
}

pid_t child_start(bool first_ends)
{
	pid_t pid = fork();
	pthread_t t;

	if (pid != 0)
		return pid;
	/* pthread_exit() would run destructors of the test program and its sanitizers first */
	if (first_ends && pthread_create(&t, NULL, wait_for_signals, NULL) == 0)
		(void)syscall(SYS_exit, 0);
	wait_for_signals(NULL);
	return 0;
}

void child_end(pid_t pid)
{
	assert_return_code(kill(pid, SIGKILL), 0);
	assert_return_code(waitpid(pid, NULL, 0), 0);
}
