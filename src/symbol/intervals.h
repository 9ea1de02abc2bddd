/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Nested address intervals flattened into a sorted table of segments, so that
 * the innermost one at an address is found by one binary search.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct interval {
	uint64_t lo, hi; /* [lo, hi) */
	uint32_t id;     /* of two equal intervals the greater id is the inner one */
};

struct interval_list {
	VEC(struct interval);
};

#define INTERVAL_NONE UINT32_MAX

struct interval_segment {
	uint32_t start; /* from the table's base */
	uint32_t id;    /* INTERVAL_NONE: a gap */
};

struct interval_table {
	uint64_t base;
	struct {
		VEC(struct interval_segment);
	} segments;
};

/**
 * interval_table_build() - flatten
 *
 * @list is sorted in place. Where intervals cross instead of nesting, the one
 * that starts later wins. What lies 4 GiB or more behind the first is left out.
 *
 * Return: 0 or -ENOMEM.
 */
int interval_table_build(struct interval_table *out, struct interval_list *list);
void interval_table_fini(struct interval_table *t);

/* The innermost interval's id, or INTERVAL_NONE. */
uint32_t interval_table_find(const struct interval_table *t, uint64_t addr);
