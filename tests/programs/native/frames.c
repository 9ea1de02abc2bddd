/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames MS: main -> outer -> middle -> hot for MS of CPU time. The functions have frames of sizes
 * that no other program has, and no frame pointers, so only their own unwind rules lead to the
 * caller.
 */
#include "work.h"

enum { MAIN_FRAME = 23456, OUTER_FRAME = 34568, MIDDLE_FRAME = 45672, HOT_FRAME = 56784 };

static volatile uint64_t sink;

CALLED static uint64_t hot(uint64_t n)
{
	volatile char frame[HOT_FRAME];

	frame[n % HOT_FRAME] = 1;
	return spin(n, 100000) + (uint64_t)frame[n % HOT_FRAME];
}

CALLED static uint64_t middle(uint64_t n)
{
	volatile char frame[MIDDLE_FRAME];

	frame[n % MIDDLE_FRAME] = 2;
	return hot(n) + (uint64_t)frame[n % MIDDLE_FRAME];
}

CALLED static uint64_t outer(uint64_t n)
{
	volatile char frame[OUTER_FRAME];

	frame[n % OUTER_FRAME] = 3;
	return middle(n) + (uint64_t)frame[n % OUTER_FRAME];
}

int main(int argc, char **argv)
{
	volatile char frame[MAIN_FRAME];

	while (busy(busy_ms(argc, argv))) {
		frame[sink % MAIN_FRAME] = 4;
		sink += outer(sink) + (uint64_t)frame[sink % MAIN_FRAME];
	}
	return 0;
}
