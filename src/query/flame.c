/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals are one pass from the last node to the first. Children are put into
 * their parents' lists in the falling order of names, each at the head: so the
 * lists are sorted, and no list is ever sorted by itself.
 */
#include "query/flame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "query/cut.h"
#include "store/stacks.h"
#include "store/symbols.h"

#define NONE UINT32_MAX

struct builder {
	const struct stacks *s;
	const struct symbols_node *nodes;
	const struct flame_options *opt;
	struct flame *out;
	int64_t *self, *total;
	uint32_t *first, *next; /* children and siblings by node */
	uint32_t *by_name;      /* nodes in the falling order of names */
	uint32_t *rank;         /* by string: its place in the order */
	uint32_t *name_ids;     /* by string: its number in the flame plus 1 */
	int64_t threshold;
	uint32_t other;
};

struct item {
	uint32_t node; /* NONE: what was cut */
	int64_t x, total;
};

struct items {
	VEC(struct item);
};

static void items_fini(struct items *i)
{
	vec_fini(i);
}

static void builder_fini(struct builder *b)
{
	free(b->self);
	free(b->total);
	free(b->first);
	free(b->next);
	free(b->by_name);
	free(b->rank);
	free(b->name_ids);
}

void flame_fini(struct flame *f)
{
	for (size_t i = 0; i < f->levels.len; i++)
		vec_fini(&f->levels.data[i]);
	vec_fini(&f->levels);
	vec_fini(&f->names);
}

static uint32_t name_of(const struct builder *b, uint32_t node)
{
	return node ? symbols_frame(b->s->symbols, b->nodes[node].frame)->name : 0;
}

static int init(struct builder *b)
{
	size_t n = b->s->n, n_strings = symbols_count(b->s->symbols, SYMBOLS_STRINGS);

	b->self = malloc(n * sizeof(*b->self));
	b->total = malloc(n * sizeof(*b->total));
	b->first = malloc(n * sizeof(*b->first));
	b->next = malloc(n * sizeof(*b->next));
	b->by_name = malloc(n * sizeof(*b->by_name));
	b->rank = malloc(n_strings * sizeof(*b->rank));
	b->name_ids = calloc(n_strings, sizeof(*b->name_ids));
	if (!b->self || !b->total || !b->first || !b->next || !b->by_name || !b->rank ||
	    !b->name_ids)
		return -ENOMEM;
	memcpy(b->self, b->s->self, n * sizeof(*b->self));
	return 0;
}

/* What is not below the call site counts nothing. */
static int keep_call_site(struct builder *b)
{
	_cleanup_(freep) uint8_t *within =
		stacks_within(b->s->symbols, b->opt->call_site, b->opt->n_call_site);

	for (size_t i = 0; within && i < b->s->n; i++)
		if (!within[i])
			b->self[i] = 0;
	return within ? 0 : -ENOMEM;
}

static void sum_up(struct builder *b)
{
	memcpy(b->total, b->self, b->s->n * sizeof(*b->total));
	for (size_t i = b->s->n; i-- > 1;) {
		int64_t *up = &b->total[b->nodes[i].parent];

		*up = stacks_sum(*up, b->total[i]);
	}
}

static int cmp_names(const void *a, const void *b, void *ctx)
{
	const struct symbols *s = ctx;

	return strcmp(symbols_string(s, *(const uint32_t *)a),
		      symbols_string(s, *(const uint32_t *)b));
}

static int rank_names(struct builder *b)
{
	uint32_t n = symbols_count(b->s->symbols, SYMBOLS_STRINGS);
	_cleanup_(freep) uint32_t *order = malloc(n * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), cmp_names, b->s->symbols);
	for (uint32_t i = 0; i < n; i++)
		b->rank[order[i]] = i;
	return 0;
}

/* Nodes by the rank of their names, counted into places. */
static int order_nodes(struct builder *b)
{
	uint32_t n_ranks = symbols_count(b->s->symbols, SYMBOLS_STRINGS);
	_cleanup_(freep) uint32_t *at = calloc((size_t)n_ranks + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->s->n; i++)
		at[n_ranks - 1 - b->rank[name_of(b, i)] + 1]++;
	for (uint32_t i = 0; i < n_ranks; i++)
		at[i + 1] += at[i];
	for (uint32_t i = 0; i < b->s->n; i++)
		b->by_name[at[n_ranks - 1 - b->rank[name_of(b, i)]]++] = i;
	return 0;
}

static void link_children(struct builder *b)
{
	memset(b->first, 0xff, b->s->n * sizeof(*b->first));
	for (size_t i = 0; i < b->s->n; i++) {
		uint32_t node = b->by_name[i], parent = b->nodes[node].parent;

		if (!node || !b->total[node])
			continue;
		b->next[node] = b->first[parent];
		b->first[parent] = node;
	}
}

/* Those at or above the max_nodes-th greatest total stay. */
static int find_threshold(struct builder *b)
{
	_cleanup_(freep) int64_t *totals = malloc(b->s->n * sizeof(*totals));
	size_t n = 0;

	if (!totals)
		return -ENOMEM;
	for (size_t i = 1; i < b->s->n; i++)
		if (b->total[i])
			totals[n++] = b->total[i];
	b->threshold = INT64_MIN;
	if (n <= b->opt->max_nodes)
		return 0;
	b->threshold = cut_kth_greatest(totals, n, b->opt->max_nodes);
	return 0;
}

static int flame_name(struct builder *b, const char *name, uint32_t *out)
{
	*out = (uint32_t)b->out->names.len;
	return vec_push(&b->out->names, name);
}

static int bar_name(struct builder *b, uint32_t node, uint32_t *out)
{
	uint32_t string = name_of(b, node);
	int r = 0;

	*out = 0;
	if (!node)
		return 0;
	if (!b->name_ids[string]) {
		r = flame_name(b, symbols_string(b->s->symbols, string), out);
		b->name_ids[string] = *out + 1;
	}
	*out = b->name_ids[string] - 1;
	return r;
}

static int put_level(struct builder *b, const struct items *items)
{
	struct flame_level *level;
	int64_t end = 0;
	int r = vec_push(&b->out->levels, (struct flame_level){ 0 });

	if (r < 0)
		return r;
	level = &b->out->levels.data[b->out->levels.len - 1];
	for (size_t i = 0; r == 0 && i < items->len; i++) {
		const struct item *it = &items->data[i];
		struct flame_bar bar = { it->x - end, it->total, it->total, b->other };

		if (it->node != NONE) {
			bar.self = b->self[it->node];
			r = bar_name(b, it->node, &bar.name);
		} else if (b->other == NONE) {
			r = flame_name(b, "other", &b->other);
			bar.name = b->other;
		}
		if (r == 0)
			r = vec_push(level, bar);
		if (bar.self > b->out->max_self)
			b->out->max_self = bar.self;
		end = it->x + it->total;
	}
	return r;
}

static int put_children(struct builder *b, const struct item *it, struct items *out)
{
	struct item other = { NONE, 0, 0 };
	int64_t x;
	int r = 0;

	if (it->node == NONE)
		return 0;
	x = it->x + b->self[it->node];
	for (uint32_t c = b->first[it->node]; r == 0 && c != NONE; c = b->next[c]) {
		if (b->total[c] < b->threshold) {
			other.total += b->total[c];
			continue;
		}
		r = vec_push(out, (struct item){ c, x, b->total[c] });
		x += b->total[c];
	}
	other.x = x;
	return r == 0 && other.total ? vec_push(out, other) : r;
}

static int put_levels(struct builder *b)
{
	_cleanup_(items_fini) struct items level = { 0 };
	int r = vec_push(&level, (struct item){ 0, 0, b->total[0] });

	while (r == 0 && level.len) {
		_cleanup_(items_fini) struct items below = { 0 };
		struct items swap;

		r = put_level(b, &level);
		for (size_t i = 0; r == 0 && i < level.len; i++)
			r = put_children(b, &level.data[i], &below);
		swap = level;
		level = below;
		below = swap;
	}
	return r;
}

int flame_build(struct flame *out, const struct stacks *s, const struct flame_options *opt)
{
	_cleanup_(builder_fini) struct builder b = {
		.s = s, .nodes = symbols_nodes(s->symbols), .opt = opt, .out = out, .other = NONE
	};
	int r = init(&b);

	if (r == 0 && opt->n_call_site)
		r = keep_call_site(&b);
	if (r < 0)
		return r;
	sum_up(&b);
	out->total = b.total[0];
	r = vec_push(&out->names, "total");
	if (r == 0)
		r = rank_names(&b);
	if (r == 0)
		r = order_nodes(&b);
	if (r == 0)
		r = find_threshold(&b);
	if (r < 0)
		return r;
	link_children(&b);
	return put_levels(&b);
}
