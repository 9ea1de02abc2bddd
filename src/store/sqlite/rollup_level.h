/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The levels of rollups (rollup.h) and the slots of time that they cover. */
#include <stdint.h>

enum { ROLLUP_N_LEVELS = 2 };

/* The time that a rollup of this level covers: ten minutes or two hours, in nanoseconds. */
static inline int64_t rollup_step_ns(int level)
{
	static const int64_t steps[ROLLUP_N_LEVELS] = { 600 * 1000000000LL, 7200 * 1000000000LL };

	return steps[level];
}

/* The start of the slot that contains @time_ns: a multiple of the level's step. */
static inline int64_t rollup_start(int64_t time_ns, int level)
{
	return time_ns - time_ns % rollup_step_ns(level);
}
