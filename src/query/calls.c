/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are found by (parent, entry) in an index; a parent has a smaller number
 * than its children, so totals are summed from the end, and the lists of
 * children are made at last, from the smallest to the largest.
 */
#include "query/calls.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"
#include "profile/profile.h"

struct calls {
	struct entries *entries;
	struct index index;
	struct {
		VEC(struct calls_node);
	} nodes;
	struct {
		VEC(uint8_t);
	} wanted; /* by entry: 0 not asked yet, 1 no, 2 yes */
	int64_t sum;
};

enum { WANTED_UNKNOWN, WANTED_NO, WANTED_YES };

void calls_free(struct calls *c)
{
	if (!c)
		return;
	entries_free(c->entries);
	index_fini(&c->index);
	vec_fini(&c->nodes);
	vec_fini(&c->wanted);
	free(c);
}

struct node_key {
	const struct calls *c;
	uint32_t parent, entry;
};

static bool node_eq(const void *ctx, uint32_t id)
{
	const struct node_key *k = ctx;
	const struct calls_node *n = &k->c->nodes.data[id];

	return n->parent == k->parent && n->entry == k->entry;
}

static int add_node(struct calls *c, uint32_t parent, uint32_t entry, uint32_t *out)
{
	const struct calls_node n = {
		.parent = parent, .entry = entry, .first_child = CALLS_NONE, .next = CALLS_NONE
	};
	struct node_key key = { c, parent, entry };
	uint32_t hash = hash_u64((uint64_t)parent << 32 | entry);
	int r;

	if (index_find(&c->index, hash, node_eq, &key, out))
		return 0;
	if (c->nodes.len >= CALLS_NONE - 1)
		return -ENOMEM;
	*out = (uint32_t)c->nodes.len;
	r = vec_push(&c->nodes, n);
	return r < 0 ? r : index_add(&c->index, hash, *out);
}

/* Frames [from, to) of @ids, one below the other; a step of -1 goes from the last to the first. */
static int add_path(struct calls *c, const uint32_t *ids, size_t n, bool backwards, int64_t value)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++) {
		int r = add_node(c, node, ids[backwards ? n - 1 - i : i], &node);

		if (r < 0)
			return r;
	}
	c->nodes.data[node].self = top_add(c->nodes.data[node].self, value);
	return 0;
}

static bool is_wanted(const struct calls_options *opt, const struct entry *e, bool exact)
{
	if ((opt->binary && strcmp(e->binary, opt->binary) != 0) ||
	    (opt->kind && strcmp(profile_frame_kind_label(e->kind), opt->kind) != 0))
		return false;
	return exact ? !strcmp(e->name, opt->name) : strstr(e->name, opt->name) != NULL;
}

/* The outermost frame that is wanted: its number, or @n. */
static size_t outermost(const struct calls *c, const uint32_t *ids, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (c->wanted.data[ids[i]] == WANTED_YES)
			return i;
	return n;
}

static int mark_wanted(struct calls *c, const struct calls_options *opt, bool exact)
{
	while (c->wanted.len < entries_count(c->entries)) {
		uint32_t id = (uint32_t)c->wanted.len;
		struct entry e = entries_get(c->entries, id);
		int r = vec_push(&c->wanted, is_wanted(opt, &e, exact) ? WANTED_YES : WANTED_NO);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_stack(struct calls *c, const struct calls_options *opt, bool exact, uint32_t stack,
		     int64_t value)
{
	const uint32_t *ids;
	size_t n, at;
	int r = entries_of_stack(c->entries, stack, &ids, &n);

	if (r < 0 || opt->direction == CALLS_ALL)
		return r < 0 ? r : add_path(c, ids, n, true, value);
	r = mark_wanted(c, opt, exact);
	if (r < 0)
		return r;
	at = outermost(c, ids, n);
	if (at == n)
		return 0;
	if (opt->direction == CALLS_CALLERS)
		return add_path(c, ids + at, n - at, false, value);
	return add_path(c, ids, at + 1, true, value);
}

static int add_stacks(struct calls *c, const struct profile *p, const struct calls_options *opt,
		      bool exact, const int64_t *by_stack)
{
	const struct calls_node root = { CALLS_NONE, CALLS_NONE, CALLS_NONE, CALLS_NONE, 0, 0 };
	int r = vec_push(&c->nodes, root);

	for (uint32_t i = 0; r == 0 && i < profile_n_stacks(p); i++)
		if (by_stack[i])
			r = add_stack(c, opt, exact, i, by_stack[i]);
	return r;
}

static int cmp_nodes(const void *a, const void *b, void *ctx)
{
	const struct calls *c = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t tx = c->nodes.data[x].total, ty = c->nodes.data[y].total;

	if (tx != ty)
		return tx < ty ? -1 : 1;
	return x < y ? 1 : x > y ? -1 : 0;
}

/* Totals, and each node's children: pushed to the front, the smallest first. */
static int finish(struct calls *c)
{
	_cleanup_(freep) uint32_t *order = calloc(c->nodes.len, sizeof(*order));
	struct calls_node *nodes = c->nodes.data;

	if (!order)
		return -ENOMEM;
	for (size_t i = c->nodes.len; i-- > 0;) {
		order[i] = (uint32_t)i;
		nodes[i].total = top_add(nodes[i].total, nodes[i].self);
		if (i)
			nodes[nodes[i].parent].total =
				top_add(nodes[nodes[i].parent].total, nodes[i].total);
	}
	qsort_r(order, c->nodes.len, sizeof(*order), cmp_nodes, c);
	for (size_t i = 0; i < c->nodes.len; i++) {
		uint32_t id = order[i];

		if (!id)
			continue;
		nodes[id].next = nodes[nodes[id].parent].first_child;
		nodes[nodes[id].parent].first_child = id;
	}
	return 0;
}

static int64_t *sum_stacks(struct calls *c, const struct profile *p,
			   const struct calls_options *opt)
{
	_cleanup_(freep) uint8_t *kept = stack_filter_run(&opt->filter, p);
	int64_t *sums = calloc((size_t)profile_n_stacks(p) + 1, sizeof(*sums));

	for (uint32_t i = 0; kept && sums && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t v = s.values[opt->value_num];

		c->sum = top_add(c->sum, v);
		if (kept[s.stack])
			sums[s.stack] = top_add(sums[s.stack], v);
	}
	if (!kept) {
		free(sums);
		return NULL;
	}
	return sums;
}

int calls_build(struct calls **out, const struct profile *p, const struct calls_options *opt)
{
	_cleanup_(calls_freep) struct calls *c = calloc(1, sizeof(*c));
	_cleanup_(freep) int64_t *by_stack = NULL;
	int r;

	if (opt->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	if (!c)
		return -ENOMEM;
	by_stack = sum_stacks(c, p, opt);
	r = by_stack ? entries_new(&c->entries, p, ENTRIES_BY_FUNCTION, NULL) : -ENOMEM;
	if (r == 0)
		r = add_stacks(c, p, opt, true, by_stack);
	if (r == 0 && c->nodes.len == 1 && opt->direction != CALLS_ALL) {
		c->nodes.len = c->wanted.len = 0;
		r = add_stacks(c, p, opt, false, by_stack);
		if (r == 0 && c->nodes.len == 1)
			r = -ENOENT;
	}
	if (r == 0)
		r = finish(c);
	if (r == 0)
		*out = steal_ptr(&c);
	return r;
}

uint32_t calls_n_nodes(const struct calls *c)
{
	return (uint32_t)c->nodes.len;
}

const struct calls_node *calls_node(const struct calls *c, uint32_t i)
{
	return &c->nodes.data[i];
}

struct entry calls_entry(const struct calls *c, const struct calls_node *n)
{
	return entries_get(c->entries, n->entry);
}

int64_t calls_sum(const struct calls *c)
{
	return c->sum;
}
