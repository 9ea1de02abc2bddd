/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parents have smaller ids than their children, so one pass from the last node to the first
 * computes totals. Nodes whose total is at least the max_nodes-th greatest are retained, including
 * all equal ones; names are compared among retained siblings only.
 *
 * Comparing names of all siblings would cost more than everything else: a merge can have millions
 * of nodes, and thousands of them are shown. Children are stored as one array with the start of
 * each node's part, as in a compressed sparse row.
 */
#include "flame/flame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "flame/profile_pair.h"
#include "flame/prune.h"
#include "flame/stack_dict.h"

void flame_tree_fini(struct flame_tree *s)
{
	for (int i = 0; i < FLAME_TREE_SIDES; i++) {
		free(s->total[i]);
		free(s->other[i]);
	}
	free(s->first);
	free(s->children);
}

uint32_t flame_tree_name(const struct flame_tree *s, uint32_t node)
{
	return node ? stack_dict_frame(s->dict, stack_dict_node(s->nodes, node)->frame)->name : 0;
}

static int sum_totals(struct flame_tree *s, size_t side)
{
	int64_t *total = malloc(s->n * sizeof(*total));

	if (!total)
		return -ENOMEM;
	memcpy(total, s->self[side], s->n * sizeof(*total));
	for (size_t i = s->n; i-- > 1;) {
		int64_t *up = &total[stack_dict_node(s->nodes, i)->parent];

		*up = saturating_add(*up, total[i]);
	}
	s->total[side] = total;
	return 0;
}

/* The total by which a node is retained or pruned. */
static int64_t weight(const struct flame_tree *s, size_t i)
{
	return s->n_sides > 1 ? saturating_add(s->total[0][i], s->total[1][i]) : s->total[0][i];
}

/* The least total of retained nodes; INT64_MIN if all fit. */
static int find_threshold(const struct flame_tree *s, uint32_t max_nodes, int64_t *out)
{
	_cleanup_(freep) int64_t *weights = malloc(s->n * sizeof(*weights));
	size_t n = 0;

	if (!weights)
		return -ENOMEM;
	for (size_t i = 1; i < s->n; i++)
		if ((weights[n] = weight(s, i)))
			n++;
	*out = n > max_nodes ? prune_kth_greatest(weights, n, max_nodes) : INT64_MIN;
	return 0;
}

/*
 * Counts each node's retained children in first[]. Descendants of pruned nodes are skipped. With
 * negative values, a child may outweigh its parent; it is skipped with it nevertheless.
 */
static void select_nodes(struct flame_tree *s, int64_t threshold, uint8_t *retained)
{
	retained[0] = 1;
	for (size_t i = 1; i < s->n; i++) {
		uint32_t parent = stack_dict_node(s->nodes, i)->parent;
		int64_t w = weight(s, i);

		if (!w || !retained[parent])
			continue;
		retained[i] = w >= threshold;
		if (retained[i]) {
			s->first[parent + 1]++;
			continue;
		}
		for (size_t k = 0; k < s->n_sides; k++)
			s->other[k][parent] = saturating_add(s->other[k][parent], s->total[k][i]);
	}
	for (size_t i = 0; i < s->n; i++)
		s->first[i + 1] += s->first[i];
}

static int cmp_names(const void *a, const void *b, void *ctx)
{
	const struct flame_tree *s = ctx;

	return strcmp(stack_dict_string(s->dict, flame_tree_name(s, *(const uint32_t *)a)),
		      stack_dict_string(s->dict, flame_tree_name(s, *(const uint32_t *)b)));
}

static int put_children(struct flame_tree *s, const uint8_t *retained)
{
	_cleanup_(freep) uint32_t *at = malloc((s->n + 1) * sizeof(*at));

	s->children = malloc((s->first[s->n] + 1) * sizeof(*s->children));
	if (!at || !s->children)
		return -ENOMEM;
	memcpy(at, s->first, (s->n + 1) * sizeof(*at));
	for (uint32_t i = 1; i < s->n; i++)
		if (retained[i])
			s->children[at[stack_dict_node(s->nodes, i)->parent]++] = i;
	for (size_t i = 0; i < s->n; i++)
		if (s->first[i + 1] - s->first[i] > 1)
			qsort_r(s->children + s->first[i], s->first[i + 1] - s->first[i],
				sizeof(*s->children), cmp_names, s);
	return 0;
}

static int build(struct flame_tree *s, uint32_t max_nodes)
{
	_cleanup_(freep) uint8_t *retained = calloc(s->n, 1);
	int64_t threshold = 0;
	int r = 0;

	s->first = calloc(s->n + 2, sizeof(*s->first));
	if (!retained || !s->first)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->n_sides; i++) {
		s->other[i] = calloc(s->n, sizeof(*s->other[i]));
		r = s->other[i] ? sum_totals(s, i) : -ENOMEM;
	}
	if (r == 0)
		r = find_threshold(s, max_nodes, &threshold);
	if (r < 0)
		return r;
	select_nodes(s, threshold, retained);
	return put_children(s, retained);
}

int flame_tree_build(struct flame_tree *out, const struct merged_stacks *s, uint32_t max_nodes)
{
	*out = (struct flame_tree){ .dict = s->dict,
				    .nodes = stack_dict_nodes(s->dict),
				    .n = s->n,
				    .n_sides = 1,
				    .self = { s->self } };
	return build(out, max_nodes);
}

int flame_tree_build_pair(struct flame_tree *out, const struct profile_pair *p, uint32_t max_nodes)
{
	*out = (struct flame_tree){ .dict = p->both->dict,
				    .nodes = stack_dict_nodes(p->both->dict),
				    .n = p->both->n,
				    .n_sides = 2,
				    .self = { p->self[PROFILE_PAIR_LEFT],
					      p->self[PROFILE_PAIR_RIGHT] } };
	return build(out, max_nodes);
}
