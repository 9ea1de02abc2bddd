/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong SECONDS CPU TURNS: two processes on one CPU send a byte back and forth, with TURNS
 * iterations of work in between; prints the number of context switches per second.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static volatile unsigned long sink;

/* The amount of work is fixed, so any slowdown shows in the number of switches per second. */
static void work(long turns)
{
	for (long i = 0; i < turns; i++)
		sink = sink * 31 + 7;
}

static void echo(int in, int out, long turns)
{
	char c;

	while (read(in, &c, 1) == 1) {
		work(turns);
		if (write(out, &c, 1) != 1)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	long long began;
	int there[2], back[2];
	long n = 0, turns = argc > 3 ? atol(argv[3]) : 0;
	cpu_set_t set;
	char c = 0;

	CPU_ZERO(&set);
	CPU_SET(argc > 2 ? (size_t)atol(argv[2]) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1], turns);
	}
	close(there[0]);
	close(back[1]);
	began = now_ns(CLOCK_MONOTONIC);
	while (n % 256 || (double)(now_ns(CLOCK_MONOTONIC) - began) < seconds * 1e9) {
		work(turns);
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
		n++;
	}
	printf("%.0f\n", 2 * (double)n * 1e9 / (double)(now_ns(CLOCK_MONOTONIC) - began));
	close(there[1]);
	return wait(NULL) < 0;
}
