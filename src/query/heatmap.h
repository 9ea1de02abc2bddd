/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How the values of single profiles are spread, over time: in each step, how
 * many are in each of HEATMAP_ROWS rows of equal height between the least value of
 * all and the greatest.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"

struct err;
struct store;
struct store_select;

enum { HEATMAP_ROWS = 20, HEATMAP_MAX_POINTS = 4 << 20 };

struct heatmap_slot {
	int64_t time_ms; /* the end of the step */
	uint32_t counts[HEATMAP_ROWS];
};

struct heatmap_line {
	uint32_t group;
	int64_t sum;
	struct {
		VEC(struct heatmap_slot); /* that have any, by time */
	} slots;
};

struct heatmap {
	VEC(struct heatmap_line); /* the greatest sum first */
	struct groups groups;
	int64_t least, greatest;
};

struct heatmap_options {
	int64_t step_ms;
	const char *const *group_by;
	size_t n_group_by;
	size_t limit; /* lines; 0: all */
};

void heatmap_fini(struct heatmap *h);

/* 0; -EINVAL; -EFBIG for more than HEATMAP_MAX_POINTS profiles; as the store says. */
int heatmap_build(struct heatmap *out, struct store *s, const struct store_select *sel,
		  const struct heatmap_options *opt, struct err *err);

/* Where a row begins. */
static inline double heatmap_row(const struct heatmap *h, unsigned int row)
{
	return (double)h->least + ((double)h->greatest - (double)h->least) * row / HEATMAP_ROWS;
}
