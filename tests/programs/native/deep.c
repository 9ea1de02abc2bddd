/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep MS: thread -> left or right in turn -> roomy -> wide, 40 times -> hot. The frame of roomy is
 * larger than what is copied of a stack, and most of its pages are never touched; those of wide are
 * larger than a copy together.
 */
#include <pthread.h>

#include "work.h"

static volatile uint64_t sink;
static long ms;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 200000);
}

CALLED static uint64_t wide(uint64_t n, int depth)
{
	volatile uint64_t room[256];

	for (int i = 0; i < 256; i++)
		room[i] = n;
	n = depth > 1 ? wide(n + 1, depth - 1) : hot(n);
	return n + room[n % 256];
}

CALLED static uint64_t roomy(uint64_t n)
{
	volatile char room[400 << 10];

	room[0] = 1;
	n = wide(n, 40);
	return n + room[0];
}

CALLED static uint64_t left(uint64_t n)
{
	return roomy(n) + 1;
}

CALLED static uint64_t right(uint64_t n)
{
	return roomy(n) + 2;
}

static void *thread(void *arg)
{
	while (busy(ms)) {
		sink += left(sink);
		sink += right(sink);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	ms = busy_ms(argc, argv);
	if (pthread_create(&t, NULL, thread, NULL))
		return 1;
	pthread_join(t, NULL);
	return 0;
}
