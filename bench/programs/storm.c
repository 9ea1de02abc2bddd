/* SPDX-License-Identifier: Apache-2.0 */
/* storm N: starts and reaps /bin/true N times per second, until killed. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	char *const child[] = { "true", NULL }, *const env[] = { NULL };
	long long step = 1000000000LL / (argc > 1 ? atoi(argv[1]) : 1000), next = now_ns();

	for (;;) {
		struct timespec until;
		pid_t pid;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, child, env) == 0)
			waitpid(pid, NULL, 0);
		next += step;
		if (next <
		    now_ns() - 1000000000LL) /* more than a second behind: skip the missed starts */
			next = now_ns();
		until.tv_sec = next / 1000000000LL;
		until.tv_nsec = next % 1000000000LL;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}
