/* SPDX-License-Identifier: Apache-2.0 */
/* recursion MS DEPTH: main -> deep, DEPTH times -> hot. */
#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 5000000);
}

CALLED static uint64_t deep(uint64_t n, long depth)
{
	n = depth > 1 ? deep(n + 1, depth - 1) : hot(n);
	__asm__ volatile("" : "+r"(n)); /* without this the compiler makes it a loop */
	return n;
}

int main(int argc, char **argv)
{
	long depth = argc > 2 ? strtol(argv[2], NULL, 10) : 10;

	while (busy(busy_ms(argc, argv)))
		sink += deep(sink, depth);
	return 0;
}
