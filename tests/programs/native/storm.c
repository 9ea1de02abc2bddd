/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that becomes another one all the time: storm OTHER TIMES US [reuse]. It works for US
 * microseconds of CPU time in a function whose name is its own (-DWORK=name), then executes OTHER
 * in its place, which does the same, TIMES times in all. With "reuse" each turn is a new process
 * with the same pid instead, which executes OTHER and itself in turn. The function on the
 * stack thus follows from the name of the process, which is in the variable STORM_NAME, too.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static int64_t cpu_ns(void)
{
	return ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

CALLED uint64_t WORK(int64_t until_ns)
{
	uint64_t n = 1;

	while (cpu_ns() < until_ns)
		n = spin(n, 100);
	return n;
}

static void become(const char *program, const char *other, long times, long us)
{
	const char *name = strrchr(program, '/');
	char n[24], u[24];

	snprintf(n, sizeof(n), "%ld", times);
	snprintf(u, sizeof(u), "%ld", us);
	setenv("STORM_NAME", name ? name + 1 : program, 1);
	execl(program, name ? name + 1 : program, other, n, u, (char *)NULL);
	_exit(2);
}

/* Forks a child with this pid, which must be free; 0: any pid. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uint64_t)(uintptr_t)&pid,
				   .set_tid_size = pid ? 1 : 0 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Runs the two programs in turn, each in a new process with the pid of the one before. */
static int reuse(const char *self, const char *other, long times, long us)
{
	pid_t pid = 0;

	for (long i = 0; i < times; i++) {
		pid_t child = fork_as(pid);

		if (child < 0 && errno == EEXIST) { /* somebody else was faster */
			pid = 0;
			continue;
		}
		if (child < 0)
			return 3;
		if (!child)
			become(i & 1 ? self : other, i & 1 ? other : self, 0, us);
		pid = child;
		waitpid(child, NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	long times = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	long us = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	uint64_t n;

	if (len < 0 || argc < 4)
		return 1;
	self[len] = '\0';
	if (argc > 4)
		return reuse(self, argv[1], times, us);
	n = WORK(cpu_ns() + us * 1000);
	if (times > 0)
		become(argv[1], self, times - 1, us);
	return n == 1;
}
