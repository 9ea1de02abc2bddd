/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values over time: the sums or averages of all windows in each step, one line per group of labels.
 * A window counts at the end of its step. The last step is complete even if the range ends within
 * it.
 *
 * Pyroscope's SelectSeries counts in the same way: the point at time t covers the step that ends at
 * t. A range of N complete steps therefore has N + 1 points, and one more if its last step is
 * incomplete.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"
#include "store/store.h"

enum { TIMELINE_MAX_STEPS = 16384, TIMELINE_MAX_POINTS = 4 << 20 };

struct timeline_options {
	int64_t step_ms;
	const char *const *group_by;
	size_t n_group_by;
	bool average;
	size_t limit; /* keeps the lines with the greatest sums; 0 keeps all */
};

struct timeline_point {
	int64_t sum;
	uint32_t n; /* windows; 0 means no point */
};

struct timeline_line {
	uint32_t group;
	struct timeline_point *points;
	int64_t sum;
};

struct timeline {
	VEC(struct timeline_line); /* greatest sum first */
	size_t n_found;            /* number of lines before the limit */
	int64_t sum;               /* of all lines */
	struct groups groups;      /* by group_by */
	size_t n_steps;
	int64_t start_ms, step_ms;
	bool average;
};

/* The line's value of the @i-th label of group_by; NULL if it has none. */
static inline const char *timeline_label(const struct timeline *t, const struct timeline_line *line,
					 size_t i)
{
	return groups_value(&t->groups, line->group, i);
}

void timeline_fini(struct timeline *t);

/*
 * Returns 0, -EINVAL for more than TIMELINE_MAX_STEPS steps, -EFBIG for more than
 * TIMELINE_MAX_POINTS points, or an error of store_points(). Free @out in either case. The group_by
 * of @opt is borrowed until the timeline is freed.
 */
int timeline_build(struct timeline *out, struct store *s, const struct store_select *sel,
		   const struct timeline_options *opt, struct err *err);

static inline double timeline_value(const struct timeline *t, const struct timeline_point *c)
{
	return t->average && c->n ? (double)c->sum / c->n : (double)c->sum;
}
