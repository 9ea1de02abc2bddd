/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pyroscope's SelectHeatmap: how the values of single profiles are distributed, over time. Each
 * step counts the profiles in each of VALUE_HEAT_MAP_ROWS rows of equal height between the least
 * and the greatest value. For the page's heat map see time_heat_map.h.
 *
 * A step without profiles has no slot, so memory follows the data and not the range divided by the
 * step, which a client chooses freely.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"

struct err;
struct store;
struct store_select;

enum { VALUE_HEAT_MAP_ROWS = 20, VALUE_HEAT_MAP_MAX_POINTS = 4 << 20 };

struct value_heat_map_slot {
	int64_t time_ms; /* the end of the step */
	uint32_t counts[VALUE_HEAT_MAP_ROWS];
};

struct value_heat_map_series {
	uint32_t group;
	int64_t sum;
	struct {
		VEC(struct value_heat_map_slot); /* slots with at least one profile, by time */
	} slots;
};

struct value_heat_map {
	VEC(struct value_heat_map_series); /* greatest sum first */
	struct groups groups;
	int64_t least, greatest;
};

struct value_heat_map_options {
	int64_t step_ms;
	const char *const *group_by;
	size_t n_group_by;
	size_t limit; /* number of series; 0 keeps all */
};

void value_heat_map_fini(struct value_heat_map *h);

/*
 * Returns 0, -EINVAL for an invalid step, -EFBIG beyond VALUE_HEAT_MAP_MAX_POINTS profiles, or an
 * error of store_points(). Free @out in either case.
 */
int value_heat_map_build(struct value_heat_map *out, struct store *s,
			 const struct store_select *sel, const struct value_heat_map_options *opt,
			 struct err *err);

/* The least value of a row. */
static inline double value_heat_map_row(const struct value_heat_map *h, unsigned int row)
{
	return (double)h->least +
	       ((double)h->greatest - (double)h->least) * row / VALUE_HEAT_MAP_ROWS;
}
