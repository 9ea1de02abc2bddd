/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A static program with one known stack trace: main, chain_a, chain_b, chain_c, spin.
 * `chain SECONDS` computes for that long. The frames differ in size, and no function
 * ends with its call, so the compiler cannot turn a call into a jump.
 */
#include <stdlib.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone))

static volatile unsigned int sink;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

KEEP unsigned int spin(unsigned int x)
{
	volatile unsigned int room[4] = { x };

	for (int i = 0; i < 20000000; i++)
		room[i & 3] = room[(i + 1) & 3] * 1664525u + 1013904223u;
	return room[0];
}

KEEP unsigned int chain_c(unsigned int x)
{
	volatile unsigned int room[64] = { x };

	room[1] = spin(room[0]);
	return room[1] + 1;
}

KEEP unsigned int chain_b(unsigned int x)
{
	return chain_c(x + 2) ^ 3;
}

KEEP unsigned int chain_a(unsigned int x)
{
	volatile unsigned int room[300] = { x };

	room[7] = chain_b(room[0]);
	return room[7] + 5;
}

int main(int argc, char **argv)
{
	long end = now_ms() + (argc > 1 ? atol(argv[1]) : 1) * 1000;

	while (now_ms() < end)
		sink = chain_a(sink);
	return 0;
}
