/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main -> outer -> middle -> hot. chain MS [PROGRAM ARG...]: for MS of CPU
 * time, then become PROGRAM.
 */
#include <unistd.h>

#include "work.h"

volatile uint64_t sink;

CALLED uint64_t hot(uint64_t n);
CALLED uint64_t middle(uint64_t n);
CALLED uint64_t outer(uint64_t n);

CALLED uint64_t hot(uint64_t n)
{
	return spin(n, 100000);
}

CALLED uint64_t middle(uint64_t n)
{
	uint64_t sum = n;

	for (int i = 0; i < 50; i++)
		sum += hot(sum + (uint64_t)i);
	return sum;
}

CALLED uint64_t outer(uint64_t n)
{
	return middle(n) + 1;
}

int main(int argc, char **argv)
{
	while (busy(busy_ms(argc, argv)))
		sink += outer(sink);
	if (argc > 2)
		execv(argv[2], argv + 2);
	return 0;
}
