/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sub-second heat map of the page: values of a range in short steps (cells), by the time at
 * which each sample was taken. For Pyroscope's SelectHeatmap see value_heat_map.h.
 *
 * @timed against @total shows how much of the range has timestamps. They differ a little even if
 * all samples have them, because a window's value is divided by integers.
 */
#include <stdint.h>

#include "base/clock.h"
#include "base/vec.h"

struct err;
struct store;
struct store_select;

enum { TIME_HEAT_MAP_MAX_CELLS = 1 << 20 };

/*
 * The longest window that is searched for samples after its beginning. Samples that a longer window
 * has later than this are missing if the window begins before the range.
 */
#define TIME_HEAT_MAP_LONGEST_WINDOW_NS (120 * (int64_t)CLOCK_SECOND_NS)

struct time_heat_map {
	VEC(int64_t);
	int64_t total; /* of the windows that begin in the range */
	int64_t timed; /* of the samples in the range whose time is known */
};

void time_heat_map_fini(struct time_heat_map *c);

/*
 * Returns 0, -EINVAL beyond TIME_HEAT_MAP_MAX_CELLS, or an error of store_sample_times(). Free @out
 * in either case. @cell_ms must be positive.
 */
int time_heat_map_build(struct time_heat_map *out, struct store *s, const struct store_select *sel,
			int64_t cell_ms, struct err *err);
