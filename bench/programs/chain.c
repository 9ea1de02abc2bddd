/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain [CPU-MS]: main -> outer -> middle -> hot, for CPU-MS of CPU time (default 0: until killed).
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static uint64_t hot(uint64_t sum)
{
	for (int i = 0; i < 50000; i++)
		__asm__ volatile("" : "+r"(sum));
	return sum;
}

__attribute__((noinline)) static uint64_t middle(uint64_t sum)
{
	for (int i = 0; i < 20; i++)
		sum += hot(sum + (uint64_t)i);
	return sum;
}

__attribute__((noinline)) static uint64_t outer(uint64_t sum)
{
	return middle(sum) + 1;
}

int main(int argc, char **argv)
{
	clock_t ms = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t sum = 0;

	while (!ms || clock() < ms * (CLOCKS_PER_SEC / 1000))
		sum += outer(sum);
	return (int)(sum & 1);
}
