/* SPDX-License-Identifier: Apache-2.0 */
/* A callback through libc: main -> outer -> qsort -> compare -> hot. */
#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t hot(uint64_t n)
{
	return spin(n, 200000);
}

static int compare(const void *a, const void *b)
{
	sink += hot(sink);
	return *(const int *)a - *(const int *)b;
}

CALLED static uint64_t outer(void)
{
	int numbers[] = { 5, 3, 8, 1, 9, 2, 7, 4, 6, 0 };

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
	return (uint64_t)numbers[0] + 1;
}

int main(int argc, char **argv)
{
	while (busy(busy_ms(argc, argv)))
		sink += outer();
	return 0;
}
