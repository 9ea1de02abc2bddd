/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The levels of rollups (rollup.h) and of packs (day_pack.h), and the slots of time that they
 * cover. */
#include <stdint.h>

enum {
	ROLLUP_N_LEVELS = 2,
	ROLLUP_PACK = ROLLUP_N_LEVELS, /* no sum but a pack, in slots of its own */
	ROLLUP_N_SLOTS,
};

/* The time that a slot of this level covers: ten minutes or two hours, in nanoseconds. */
static inline int64_t rollup_step_ns(int level)
{
	return (level == 0 ? 600 : 7200) * 1000000000LL;
}

/* The time for which a slot must have ended before it is due; it is packed once for most windows.
 */
static inline int64_t rollup_delay_ns(int level)
{
	return level == ROLLUP_PACK ? 3600 * 1000000000LL : 0;
}

/* The start of the slot that contains @time_ns: a multiple of the level's step. */
static inline int64_t rollup_start(int64_t time_ns, int level)
{
	return time_ns - time_ns % rollup_step_ns(level);
}
