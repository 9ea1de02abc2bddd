/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads MS: runs two threads, one for MS of its own CPU time and one for three times as long.
 * threads MS alone: the main thread ends first.
 */
#include <pthread.h>
#include <string.h>

#include "work.h"

static volatile uint64_t sink;
static long limit_ms;

static int thread_busy(long ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < ms;
}

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 1000000);
}

CALLED static uint64_t one(uint64_t n)
{
	return hot(n) + 1;
}

CALLED static uint64_t three(uint64_t n)
{
	return hot(n) + 3;
}

static void *once(void *arg)
{
	while (thread_busy(limit_ms))
		sink += one(sink);
	return arg;
}

static void *thrice(void *arg)
{
	while (thread_busy(3 * limit_ms))
		sink += three(sink);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	limit_ms = busy_ms(argc, argv);
	pthread_create(&a, NULL, once, NULL);
	pthread_create(&b, NULL, thrice, NULL);
	if (argc > 2 && !strcmp(argv[2], "alone"))
		pthread_exit(NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
