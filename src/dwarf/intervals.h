/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Flattens nested address intervals into a sorted table of segments, so that
 * one binary search finds the innermost interval at an address. A built table
 * is immutable.
 */
#include <stdint.h>

#include "base/vec.h"

struct interval {
	uint64_t lo, hi; /* [lo, hi) */
	uint32_t id;     /* The greater id is the inner one of two equal intervals. */
};

struct interval_list {
	VEC(struct interval);
};

#define INTERVAL_NONE UINT32_MAX

struct interval_segment {
	uint32_t start; /* relative to the table's base */
	uint32_t id;    /* INTERVAL_NONE: a gap */
};

struct interval_table {
	uint64_t base;
	struct {
		VEC(struct interval_segment);
	} segments;
};

/**
 * interval_table_build() - build the table of segments
 *
 * @list is sorted in place. Where intervals overlap without nesting, the one
 * that starts later wins. Intervals that start 4 GiB or more after the first are
 * omitted.
 *
 * Return: 0 or -ENOMEM. Free @out with interval_table_fini().
 */
int interval_table_build(struct interval_table *out, struct interval_list *list);
void interval_table_fini(struct interval_table *t);

/* Returns the id of the innermost interval at @addr, or INTERVAL_NONE. */
uint32_t interval_table_find(const struct interval_table *t, uint64_t addr);
