/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums indexed by the nodes of a dictionary, few of which have a value: the sums of a query in the
 * dictionary of a day that many services share. A group of nodes is marked when one of them gets a
 * value, so memory and time depend on the nodes with values. Zero-initialize it. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/saturate.h"

enum { NODE_SUMS_GROUP_BITS = 6 }; /* 64 nodes: a group's values fill eight cache lines */

struct node_sums {
	int64_t *values;
	uint8_t *used; /* by group: 1 if a node of it may have a value */
	size_t n;      /* nodes */
};

static inline size_t node_sums_n_groups(size_t n)
{
	return (n + (1u << NODE_SUMS_GROUP_BITS) - 1) >> NODE_SUMS_GROUP_BITS;
}

void node_sums_fini(struct node_sums *s);

/* Makes room for the nodes below @n. Returns 0 or -ENOMEM. */
int node_sums_reserve(struct node_sums *s, size_t n);

/* Adds to the sum of @node, which is below s->n. */
static inline void node_sums_add(struct node_sums *s, uint32_t node, int64_t value)
{
	s->values[node] = saturating_add(s->values[node], value);
	s->used[node >> NODE_SUMS_GROUP_BITS] = 1;
}
