/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Merged stacks, or a pair of them, pruned for display: the nodes with the greatest totals, each
 * with its children in order of their names and one sum for its pruned children.
 *
 * Totals stay exact: for each retained node, self plus the totals of its retained children plus
 * other is its total on each side, as long as no value is negative and no sum saturates.
 */
#include <stddef.h>
#include <stdint.h>

struct profile_pair;
struct merged_stacks;
struct stack_dict;
struct stack_dict_node;

enum { FLAME_TREE_SIDES = 2 };

struct flame_tree {
	const struct stack_dict *dict;
	const struct stable *nodes; /* of the dictionary */
	size_t n, n_sides;
	const int64_t *self[FLAME_TREE_SIDES]; /* indexed by node, as are all arrays below */
	int64_t *total[FLAME_TREE_SIDES];
	int64_t *other[FLAME_TREE_SIDES]; /* sum of the pruned children */
	uint32_t *first; /* index of a node's first child in children; first[i + 1] ends them */
	uint32_t *children;
};

/*
 * The stacks must have been merged with names_only and must outlive @out. Returns 0 or -ENOMEM;
 * free @out with flame_tree_fini() in either case. More than @max_nodes nodes are retained if
 * several have the smallest total that fits; nodes without a value are never retained.
 */
int flame_tree_build(struct flame_tree *out, const struct merged_stacks *s, uint32_t max_nodes);
int flame_tree_build_pair(struct flame_tree *out, const struct profile_pair *p, uint32_t max_nodes);
void flame_tree_fini(struct flame_tree *s);

/* String id of a node's name; 0 for the root. */
uint32_t flame_tree_name(const struct flame_tree *s, uint32_t node);
