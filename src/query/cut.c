/* SPDX-License-Identifier: Apache-2.0 */
#include "query/cut.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/page_json.h"
#include "store/stacks.h"

static void swap(int64_t *a, int64_t *b)
{
	int64_t t = *a;

	*a = *b;
	*b = t;
}

/* Quickselect: the middle of three is the pivot, so sorted input is no trap. */
int64_t cut_kth_greatest(int64_t *v, size_t n, size_t k)
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

struct cutter {
	const struct page_node *nodes; /* of the first tree, as they were */
	size_t n;
	int64_t *totals; /* of all trees together */
	uint32_t *depth;
	uint32_t *kept;  /* by node: its new number; PAGE_NONE: cut */
	uint32_t *other; /* by node: the number of what is cut of its children */
};

static void cutter_fini(struct cutter *c)
{
	free(c->totals);
	free(c->depth);
	free(c->kept);
	free(c->other);
}

static void sum_totals(struct cutter *c, struct page_tree *const *trees, size_t n)
{
	memset(c->totals, 0, c->n * sizeof(*c->totals));
	for (size_t t = 0; t < n; t++)
		for (size_t i = 0; i < c->n; i++)
			c->totals[i] = stacks_sum(c->totals[i], trees[t]->nodes.data[i].self);
	for (size_t i = c->n; i-- > 1;) {
		int64_t *up = &c->totals[c->nodes[i].parent];

		*up = stacks_sum(*up, c->totals[i]);
	}
}

/* Nodes above @least stay; of those equal to it, as in any profile of single samples, the upper. */
struct limit {
	int64_t least;
	uint32_t depth; /* where nodes equal to it are cut */
};

static void find_depths(struct cutter *c)
{
	c->depth[0] = 0;
	for (size_t i = 1; i < c->n; i++)
		c->depth[i] = c->depth[c->nodes[i].parent] + 1;
}

/* How deep nodes equal to @least may be, so that @max stay in all. */
static uint32_t find_depth(const struct cutter *c, int64_t least, uint32_t max, uint32_t *counts)
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

/* Empty nodes never stay. */
static struct limit find_limit(const struct cutter *c, uint32_t max, int64_t *room,
			       uint32_t *counts)
{
	struct limit limit = { INT64_MIN, 0 };
	size_t n = 0;

	for (size_t i = 1; i < c->n; i++)
		if (c->totals[i])
			room[n++] = c->totals[i];
	if (n > max) {
		limit.least = cut_kth_greatest(room, n, max);
		limit.depth = find_depth(c, limit.least, max, counts);
	}
	return limit;
}

/* New numbers: of nodes that stay in their order, then of what is cut, one a parent. */
static uint32_t number(struct cutter *c, struct limit limit)
{
	uint32_t n = 1;

	c->kept[0] = 0;
	for (size_t i = 1; i < c->n; i++) {
		bool large = c->totals[i] > limit.least ||
			     (c->totals[i] == limit.least && c->depth[i] < limit.depth);
		bool stays = large && c->totals[i] && c->kept[c->nodes[i].parent] != PAGE_NONE;

		c->kept[i] = stays ? n++ : PAGE_NONE;
	}
	memset(c->other, 0xff, c->n * sizeof(*c->other));
	for (size_t i = 1; i < c->n; i++) {
		uint32_t parent = c->nodes[i].parent;

		if (c->totals[i] && c->kept[i] == PAGE_NONE && c->kept[parent] != PAGE_NONE &&
		    c->other[parent] == PAGE_NONE)
			c->other[parent] = n++;
	}
	return n;
}

/* Where the value of node @i goes: parents come first, so cut ones know already. */
static uint32_t place_of(const struct cutter *c, uint32_t *place, size_t i)
{
	uint32_t parent = c->nodes[i].parent;

	if (c->kept[i] != PAGE_NONE)
		return place[i] = c->kept[i];
	if (!i || !c->totals[i])
		return place[i] = PAGE_NONE;
	return place[i] = c->kept[parent] != PAGE_NONE ? c->other[parent] : place[parent];
}

static int rebuild(const struct cutter *c, struct page_tree *t, uint32_t n_new, uint32_t *place)
{
	const struct page_frame other = {
		.name = "other", .file = "", .binary = "", .kind = "other"
	};
	struct page_node *nodes = calloc(n_new, sizeof(*nodes));
	int r = nodes ? vec_push(&t->frames, other) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct page_node *old = &t->nodes.data[i];
		uint32_t at = place_of(c, place, i);

		if (at == PAGE_NONE)
			continue;
		nodes[at].self = stacks_sum(nodes[at].self, old->self);
		if (at == c->kept[i]) {
			nodes[at].parent = i ? c->kept[old->parent] : PAGE_NONE;
			nodes[at].frame = old->frame;
		} else if (c->kept[old->parent] != PAGE_NONE) {
			nodes[at].parent = c->kept[old->parent];
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

int cut_trees(struct page_tree *const *trees, size_t n, uint32_t max_nodes)
{
	_cleanup_(cutter_fini) struct cutter c = { .n = trees[0]->nodes.len };
	_cleanup_(freep) struct page_node *nodes = malloc((c.n + 1) * sizeof(*nodes));
	_cleanup_(freep) int64_t *room = malloc((c.n + 1) * sizeof(*room));
	_cleanup_(freep) uint32_t *place = malloc((c.n + 1) * sizeof(*place));
	uint32_t n_new;
	int r = 0;

	c.totals = malloc((c.n + 1) * sizeof(*c.totals));
	c.depth = malloc((c.n + 1) * sizeof(*c.depth));
	c.kept = malloc((c.n + 1) * sizeof(*c.kept));
	c.other = malloc((c.n + 1) * sizeof(*c.other));
	if (!nodes || !room || !place || !c.totals || !c.depth || !c.kept || !c.other)
		return -ENOMEM;
	memcpy(nodes, trees[0]->nodes.data, c.n * sizeof(*nodes));
	c.nodes = nodes;
	sum_totals(&c, trees, n);
	find_depths(&c);
	n_new = number(&c, find_limit(&c, max_nodes, room, place));
	for (size_t t = 0; r == 0 && t < n; t++)
		r = rebuild(&c, trees[t], n_new, place);
	return r;
}
