/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which nodes of merged stacks an answer shows: the greatest, each with its
 * children in the order of their names, and what is cut of them in one sum. Of
 * one merge, or of two side by side.
 */
#include <stddef.h>
#include <stdint.h>

struct pair;
struct stacks;
struct symbols;
struct symbols_node;

enum { SHOWN_SIDES = 2 };

struct shown {
	const struct symbols *symbols;
	const struct symbols_node *nodes;
	size_t n, n_sides;
	const int64_t *self[SHOWN_SIDES]; /* by node, as all that follow */
	int64_t *total[SHOWN_SIDES];
	int64_t *other[SHOWN_SIDES]; /* of the children that are cut */
	uint32_t *first; /* where the node's children begin; those of the next end them */
	uint32_t *children;
};

/* Of stacks that were merged by names, and as long as they are. 0 or -ENOMEM. */
int shown_of(struct shown *out, const struct stacks *s, uint32_t max_nodes);
int shown_of_pair(struct shown *out, const struct pair *p, uint32_t max_nodes);
void shown_fini(struct shown *s);

/* The string id of a node's name; 0 for the root. */
uint32_t shown_name(const struct shown *s, uint32_t node);
