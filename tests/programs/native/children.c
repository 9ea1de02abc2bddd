/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children MS PROGRAM ARG...: main -> start -> hot in a child made by clone()
 * with its own stack and the parent's memory, and then runs PROGRAM by vfork and exec.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static volatile uint64_t sink;
static long limit_ms;
static uint64_t stack[32768];

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

static int cloned(void *arg)
{
	(void)arg;
	while (busy(limit_ms))
		sink += hot(sink);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid;

	limit_ms = busy_ms(argc, argv);
	pid = clone(cloned, stack + sizeof(stack) / sizeof(stack[0]), CLONE_VM | SIGCHLD, NULL);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid || argc < 3)
		return 1;
	pid = vfork();
	if (pid == 0) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}
