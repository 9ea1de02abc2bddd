/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a merge gives: the tree of stacks, and what each node has itself. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct symbols;

struct stacks {
	struct symbols *symbols; /* strings, frames, nodes */
	int64_t *self;           /* by node */
	size_t n;                /* nodes */
	int64_t total;
	uint64_t n_windows;
	int64_t duration_ns; /* of all windows together */
	int64_t period;      /* of the first */
	size_t cap;
};

int stacks_new(struct stacks **out);
void stacks_free(struct stacks *s);

DEFINE_FREEP(struct stacks, stacks_free)

/* Sums of one day: @self by node of @symbols. Frames by name only when asked. 0 or -ENOMEM. */
int stacks_add(struct stacks *s, const struct symbols *symbols, const int64_t *self, size_t n,
	       bool names_only);

/* The same; also which node each became, to be freed: of those on the way to a value. */
int stacks_add_mapped(struct stacks *s, const struct symbols *symbols, const int64_t *self,
		      size_t n, uint32_t **out_nodes);

/* Add to what a node of the symbols has. 0 or -ENOMEM. */
int stacks_add_value(struct stacks *s, uint32_t node, int64_t value);

/* All of @part below a frame called @name at the top. 0 or -ENOMEM. */
int stacks_add_under(struct stacks *s, const char *name, const struct stacks *part);

/*
 * By node: does its stack begin with these names, root first? 1 or 0, to be freed; NULL when
 * memory ran out.
 */
uint8_t *stacks_within(const struct symbols *symbols, const char *const *call_site, size_t n);

/* Only what lies below a call site counts from now on. 0 or -ENOMEM. */
int stacks_keep_call_site(struct stacks *s, const char *const *call_site, size_t n);

/* Values may be anything: a sum stops at the ends of its range. */
static inline int64_t stacks_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
