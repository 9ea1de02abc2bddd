/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines CPU_MS: burns CPU time in hot(), into which mix() of lines.h is inlined, until the given
 * CPU time is used. Lines with "HOT" have nearly all samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lines.h"

static unsigned table[256];

__attribute__((noinline)) static unsigned hot(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) { /* HOT */
		sum = mix(sum, i);         /* HOT */
		sum += table[sum & 255]++; /* HOT */
	}
	return sum;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(atof(argc > 1 ? argv[1] : "300") / 1000 * CLOCKS_PER_SEC);
	unsigned sum = 0;

	while (clock() < end)
		sum += hot(10000 + (sum & 1));
	printf("%u\n", sum);
	return 0;
}
