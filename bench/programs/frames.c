/* SPDX-License-Identifier: Apache-2.0 */
/* frames N warm|cold: runs with a stack of N frames, _start and leaf included, until killed. */
#include "leaf.h"

enum { OTHER_FRAMES = 5 }; /* _start, two of libc, main, leaf */

__attribute__((noinline)) static uint64_t descend(int n)
{
	uint64_t sum = (uint64_t)n;

	for (;;) {
		sum = n ? descend(n - 1) : leaf(sum);
		__asm__ volatile("" : "+r"(sum));
	}
}

int main(int argc, char **argv)
{
	leaf_setup(argc, argv);
	return (int)descend(argc > 1 ? atoi(argv[1]) - OTHER_FRAMES - 1 : 0);
}
