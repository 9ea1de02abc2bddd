/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals are one pass from the last node to the first, as parents come before
 * their children. The nodes at or above the max_nodes-th greatest total stay,
 * so equal ones all do; names are compared only among siblings that stay.
 */
#include "query/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/cut.h"
#include "query/pair.h"
#include "store/stacks.h"
#include "store/symbols.h"

void shown_fini(struct shown *s)
{
	for (int i = 0; i < SHOWN_SIDES; i++) {
		free(s->total[i]);
		free(s->other[i]);
	}
	free(s->first);
	free(s->children);
}

uint32_t shown_name(const struct shown *s, uint32_t node)
{
	return node ? symbols_frame(s->symbols, s->nodes[node].frame)->name : 0;
}

static int sum_up(struct shown *s, size_t side)
{
	int64_t *total = malloc(s->n * sizeof(*total));

	if (!total)
		return -ENOMEM;
	memcpy(total, s->self[side], s->n * sizeof(*total));
	for (size_t i = s->n; i-- > 1;) {
		int64_t *up = &total[s->nodes[i].parent];

		*up = stacks_sum(*up, total[i]);
	}
	s->total[side] = total;
	return 0;
}

/* What decides whether a node is shown. */
static int64_t weight(const struct shown *s, size_t i)
{
	return s->n_sides > 1 ? stacks_sum(s->total[0][i], s->total[1][i]) : s->total[0][i];
}

static int find_threshold(const struct shown *s, uint32_t max_nodes, int64_t *out)
{
	_cleanup_(freep) int64_t *weights = malloc(s->n * sizeof(*weights));
	size_t n = 0;

	if (!weights)
		return -ENOMEM;
	for (size_t i = 1; i < s->n; i++)
		if ((weights[n] = weight(s, i)))
			n++;
	*out = n > max_nodes ? cut_kth_greatest(weights, n, max_nodes) : INT64_MIN;
	return 0;
}

/* first[] counts the children that stay; those of nodes that are cut themselves are passed over. */
static void choose(struct shown *s, int64_t threshold, uint8_t *kept)
{
	kept[0] = 1;
	for (size_t i = 1; i < s->n; i++) {
		uint32_t parent = s->nodes[i].parent;
		int64_t w = weight(s, i);

		if (!w || !kept[parent])
			continue;
		kept[i] = w >= threshold;
		if (kept[i]) {
			s->first[parent + 1]++;
			continue;
		}
		for (size_t k = 0; k < s->n_sides; k++)
			s->other[k][parent] = stacks_sum(s->other[k][parent], s->total[k][i]);
	}
	for (size_t i = 0; i < s->n; i++)
		s->first[i + 1] += s->first[i];
}

static int cmp_names(const void *a, const void *b, void *ctx)
{
	const struct shown *s = ctx;

	return strcmp(symbols_string(s->symbols, shown_name(s, *(const uint32_t *)a)),
		      symbols_string(s->symbols, shown_name(s, *(const uint32_t *)b)));
}

static int put_children(struct shown *s, const uint8_t *kept)
{
	_cleanup_(freep) uint32_t *at = malloc((s->n + 1) * sizeof(*at));

	s->children = malloc((s->first[s->n] + 1) * sizeof(*s->children));
	if (!at || !s->children)
		return -ENOMEM;
	memcpy(at, s->first, (s->n + 1) * sizeof(*at));
	for (uint32_t i = 1; i < s->n; i++)
		if (kept[i])
			s->children[at[s->nodes[i].parent]++] = i;
	for (size_t i = 0; i < s->n; i++)
		if (s->first[i + 1] - s->first[i] > 1)
			qsort_r(s->children + s->first[i], s->first[i + 1] - s->first[i],
				sizeof(*s->children), cmp_names, s);
	return 0;
}

static int build(struct shown *s, uint32_t max_nodes)
{
	_cleanup_(freep) uint8_t *kept = calloc(s->n, 1);
	int64_t threshold = 0;
	int r = 0;

	s->first = calloc(s->n + 2, sizeof(*s->first));
	if (!kept || !s->first)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < s->n_sides; i++) {
		s->other[i] = calloc(s->n, sizeof(*s->other[i]));
		r = s->other[i] ? sum_up(s, i) : -ENOMEM;
	}
	if (r == 0)
		r = find_threshold(s, max_nodes, &threshold);
	if (r < 0)
		return r;
	choose(s, threshold, kept);
	return put_children(s, kept);
}

int shown_of(struct shown *out, const struct stacks *s, uint32_t max_nodes)
{
	*out = (struct shown){ .symbols = s->symbols,
			       .nodes = symbols_nodes(s->symbols),
			       .n = s->n,
			       .n_sides = 1,
			       .self = { s->self } };
	return build(out, max_nodes);
}

int shown_of_pair(struct shown *out, const struct pair *p, uint32_t max_nodes)
{
	*out = (struct shown){ .symbols = p->both->symbols,
			       .nodes = symbols_nodes(p->both->symbols),
			       .n = p->both->n,
			       .n_sides = 2,
			       .self = { p->self[PAIR_LEFT], p->self[PAIR_RIGHT] } };
	return build(out, max_nodes);
}
