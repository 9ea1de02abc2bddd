/* SPDX-License-Identifier: Apache-2.0 */
/* main -> outer -> middle -> clock_gettime -> the vDSO. */
#include "work.h"

static volatile uint64_t sink;

CALLED static uint64_t middle(uint64_t n)
{
	struct timespec ts;

	for (int i = 0; i < 200000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		n += (uint64_t)ts.tv_nsec;
	}
	return n;
}

CALLED static uint64_t outer(uint64_t n)
{
	return middle(n) + 1;
}

int main(int argc, char **argv)
{
	while (busy(busy_ms(argc, argv)))
		sink += outer(sink);
	return 0;
}
