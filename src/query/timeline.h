/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values over time: sums (or means) of all windows in steps, a line for each
 * group of labels. A window counts at the end of its step, and the last step is
 * there even if the range ends within it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"
#include "store/store.h"

struct err;

enum { TIMELINE_MAX_STEPS = 16384, TIMELINE_MAX_CELLS = 4 << 20 };

struct timeline_options {
	int64_t step_ms;
	const char *const *group_by;
	size_t n_group_by;
	bool average;
	size_t limit; /* lines with the greatest sums; 0: all */
};

struct timeline_cell {
	int64_t sum;
	uint32_t n; /* windows; 0: no point */
};

struct timeline_line {
	uint32_t group;
	struct timeline_cell *cells;
	int64_t sum;
};

struct timeline {
	VEC(struct timeline_line); /* the greatest sum first */
	size_t n_found;            /* lines, before the limit */
	int64_t sum;               /* of all of them */
	struct groups groups;      /* by group_by */
	size_t n_steps;
	int64_t start_ms, step_ms;
	bool average;
};

/* A line's value of the @i-th label of group_by; NULL where there is none. */
static inline const char *timeline_label(const struct timeline *t, const struct timeline_line *line,
					 size_t i)
{
	return groups_value(&t->groups, line->group, i);
}

void timeline_fini(struct timeline *t);

/* 0; -EINVAL for too many steps; -EFBIG for too many lines; as the store says. */
int timeline_build(struct timeline *out, struct store *s, const struct store_select *sel,
		   const struct timeline_options *opt, struct err *err);

static inline double timeline_value(const struct timeline *t, const struct timeline_cell *c)
{
	return t->average && c->n ? (double)c->sum / c->n : (double)c->sum;
}
