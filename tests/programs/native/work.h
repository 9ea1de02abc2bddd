/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the programs: a hot leaf, functions that are really called (and that work after the
 * call, so that no call becomes a jump), and an end after a given CPU time, which yields the same
 * number of samples however busy the machine is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#if defined(__clang__) || defined(__cplusplus)
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noinline, noclone, noipa))
#endif

/* Returns whether the CPU time of the process is still below @ms. */
static inline int busy(long ms)
{
	return clock() < ms * (CLOCKS_PER_SEC / 1000);
}

/* Returns the first argument, a number of milliseconds. */
static inline long busy_ms(int argc, char **argv)
{
	return argc > 1 ? strtol(argv[1], NULL, 10) : 100;
}

static inline int64_t ns_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Returns the time this thread has spent without a CPU plus an unknown constant. */
static inline int64_t off_ns(void)
{
	return ns_of(CLOCK_MONOTONIC) - ns_of(CLOCK_THREAD_CPUTIME_ID);
}

static inline __attribute__((always_inline)) uint64_t spin(uint64_t n, int turns)
{
	for (int i = 0; i < turns; i++)
		n = n * 6364136223846793005u + 1442695040888963407u;
	return n;
}
