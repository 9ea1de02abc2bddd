/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the nodes to retain by their totals over all trees, renumbers them, then rebuilds each
 * tree with the new ids. The threshold is found by quickselect, and parents come before their
 * children in every array, so each step is linear in the number of nodes on average.
 */
#include "flame/prune.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"

static void swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/*
 * Quickselect with the median of three as pivot, which handles sorted input in linear time. An
 * order chosen by an attacker can make it quadratic; callers bound the number of nodes.
 */
int64_t prune_kth_greatest(int64_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - 1 - lo) / 2, i = lo, j = hi - 1;
		int64_t pivot;

		if (v[lo] < v[mid])
			swap(&v[lo], &v[mid]);
		if (v[lo] < v[hi - 1])
			swap(&v[lo], &v[hi - 1]);
		if (v[mid] < v[hi - 1])
			swap(&v[mid], &v[hi - 1]);
		pivot = v[mid];
		for (;; i++, j--) {
			while (v[i] > pivot)
				i++;
			while (v[j] < pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i], &v[j]);
		}
		if (k - 1 <= j)
			hi = j + 1;
		else
			lo = j + 1;
	}
	return v[lo];
}

struct pruner {
	const struct page_node *nodes; /* of the first tree before pruning */
	size_t n;
	int64_t *totals; /* sum over all trees */
	uint32_t *depth;
	uint32_t *retained; /* by node: its new id; PAGE_NONE if pruned */
	uint32_t *other;    /* by node: the id of the node that sums its pruned children */
};

static void pruner_fini(struct pruner *c)
{
	free(c->totals);
	free(c->depth);
	free(c->retained);
	free(c->other);
}

/* Sums self values over all trees, then totals from the last node to the first. */
static void sum_totals(struct pruner *c, struct page_tree *const *trees, size_t n)
{
	memset(c->totals, 0, c->n * sizeof(*c->totals));
	for (size_t t = 0; t < n; t++)
		for (size_t i = 0; i < c->n; i++)
			c->totals[i] = saturating_add(c->totals[i], trees[t]->nodes.data[i].self);
	for (size_t i = c->n; i-- > 1;) {
		int64_t *up = &c->totals[c->nodes[i].parent];

		*up = saturating_add(*up, c->totals[i]);
	}
}

/*
 * Retains nodes above @least. Among nodes equal to it, of which a profile of single samples has
 * many, it retains those closer to the root.
 */
struct limit {
	int64_t least;
	uint32_t depth; /* nodes equal to @least are pruned from this depth on */
};

static void find_depths(struct pruner *c)
{
	c->depth[0] = 0;
	for (size_t i = 1; i < c->n; i++)
		c->depth[i] = c->depth[c->nodes[i].parent] + 1;
}

/* The depth to which nodes equal to @least are retained, so that at most @max nodes remain. */
static uint32_t find_depth(const struct pruner *c, int64_t least, uint32_t max, uint32_t *counts)
{
	size_t left = max;
	uint32_t depth = 0;

	memset(counts, 0, c->n * sizeof(*counts));
	for (size_t i = 1; i < c->n; i++) {
		left -= c->totals[i] > least;
		counts[c->depth[i]] += c->totals[i] == least;
	}
	while (depth < c->n && counts[depth] <= left)
		left -= counts[depth++];
	return depth;
}

/* Nodes without a value are always pruned. */
static struct limit find_limit(const struct pruner *c, uint32_t max, int64_t *scratch,
			       uint32_t *counts)
{
	struct limit limit = { INT64_MIN, 0 };
	size_t n = 0;

	for (size_t i = 1; i < c->n; i++)
		if (c->totals[i])
			scratch[n++] = c->totals[i];
	if (n > max) {
		limit.least = prune_kth_greatest(scratch, n, max);
		limit.depth = find_depth(c, limit.least, max, counts);
	}
	return limit;
}

/*
 * Assigns new ids: first to retained nodes in their order, then to one node per parent for its
 * pruned children.
 */
static uint32_t assign_ids(struct pruner *c, struct limit limit)
{
	uint32_t n = 1;

	c->retained[0] = 0;
	for (size_t i = 1; i < c->n; i++) {
		bool large = c->totals[i] > limit.least ||
			     (c->totals[i] == limit.least && c->depth[i] < limit.depth);
		bool retain = large && c->totals[i] && c->retained[c->nodes[i].parent] != PAGE_NONE;

		c->retained[i] = retain ? n++ : PAGE_NONE;
	}
	memset(c->other, 0xff, c->n * sizeof(*c->other));
	for (size_t i = 1; i < c->n; i++) {
		uint32_t parent = c->nodes[i].parent;

		if (c->totals[i] && c->retained[i] == PAGE_NONE &&
		    c->retained[parent] != PAGE_NONE && c->other[parent] == PAGE_NONE)
			c->other[parent] = n++;
	}
	return n;
}

/* The node that receives the value of node @i. Parents come first, so theirs is known. */
static uint32_t new_id_of(const struct pruner *c, uint32_t *new_ids, size_t i)
{
	uint32_t parent = c->nodes[i].parent;

	if (c->retained[i] != PAGE_NONE)
		return new_ids[i] = c->retained[i];
	if (!i || !c->totals[i])
		return new_ids[i] = PAGE_NONE;
	return new_ids[i] = c->retained[parent] != PAGE_NONE ? c->other[parent] : new_ids[parent];
}

/*
 * Replaces the nodes of @t. Values of pruned nodes go to the "other" child of their closest
 * retained ancestor.
 */
static int rebuild(const struct pruner *c, struct page_tree *t, uint32_t n_new, uint32_t *new_ids)
{
	const struct page_frame other = {
		.name = "other", .file = "", .binary = "", .kind = "other"
	};
	struct page_node *nodes = calloc(n_new, sizeof(*nodes));
	int r = nodes ? vec_push(&t->frames, other) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct page_node *old = &t->nodes.data[i];
		uint32_t at = new_id_of(c, new_ids, i);

		if (at == PAGE_NONE)
			continue;
		nodes[at].self = saturating_add(nodes[at].self, old->self);
		if (at == c->retained[i]) {
			nodes[at].parent = i ? c->retained[old->parent] : PAGE_NONE;
			nodes[at].frame = old->frame;
		} else if (c->retained[old->parent] != PAGE_NONE) {
			nodes[at].parent = c->retained[old->parent];
			nodes[at].frame = (uint32_t)t->frames.len - 1;
		}
	}
	if (r < 0) {
		free(nodes);
		return r;
	}
	vec_fini(&t->nodes);
	t->nodes.data = nodes;
	t->nodes.len = t->nodes.cap = n_new;
	return 0;
}

int prune_trees(struct page_tree *const *trees, size_t n, uint32_t max_nodes)
{
	_cleanup_(pruner_fini) struct pruner c = { .n = trees[0]->nodes.len };
	_cleanup_(freep) struct page_node *nodes = malloc((c.n + 1) * sizeof(*nodes));
	_cleanup_(freep) int64_t *scratch = malloc((c.n + 1) * sizeof(*scratch));
	_cleanup_(freep) uint32_t *new_ids = malloc((c.n + 1) * sizeof(*new_ids));
	uint32_t n_new;
	int r = 0;

	c.totals = malloc((c.n + 1) * sizeof(*c.totals));
	c.depth = malloc((c.n + 1) * sizeof(*c.depth));
	c.retained = malloc((c.n + 1) * sizeof(*c.retained));
	c.other = malloc((c.n + 1) * sizeof(*c.other));
	if (!nodes || !scratch || !new_ids || !c.totals || !c.depth || !c.retained || !c.other)
		return -ENOMEM;
	memcpy(nodes, trees[0]->nodes.data, c.n * sizeof(*nodes));
	c.nodes = nodes;
	sum_totals(&c, trees, n);
	find_depths(&c);
	n_new = assign_ids(&c, find_limit(&c, max_nodes, scratch, new_ids));
	for (size_t t = 0; r == 0 && t < n; t++)
		r = rebuild(&c, trees[t], n_new, new_ids);
	return r;
}
