/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index finds nodes by (parent, entry). A parent has a smaller id than its children, so totals
 * are summed from the last node. The lists of children are built at the end, from the smallest
 * child to the largest.
 *
 * Values are summed by stack before they are added, because a profile whose samples have labels of
 * their own has far more samples than stacks.
 */
#include "tables/calls.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
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
	} selected; /* by entry: an enum selected value */
	int64_t sum;
};

enum { SELECTED_UNKNOWN, SELECTED_NO, SELECTED_YES };

void calls_free(struct calls *c)
{
	if (!c)
		return;
	entries_free(c->entries);
	index_fini(&c->index);
	vec_fini(&c->nodes);
	vec_fini(&c->selected);
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

/*
 * Adds the frames @ids below the root, one below the other, in their order or backwards, and adds
 * @value to the last.
 */
static int add_path(struct calls *c, const uint32_t *ids, size_t n, bool backwards, int64_t value)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++) {
		int r = add_node(c, node, ids[backwards ? n - 1 - i : i], &node);

		if (r < 0)
			return r;
	}
	c->nodes.data[node].self = saturating_add(c->nodes.data[node].self, value);
	return 0;
}

/*
 * A text is compared as a part of names only if no name equals it: a user who types a complete name
 * does not mean longer names that contain it.
 */
static bool is_selected(const struct calls_options *opt, const struct entry *e, bool exact)
{
	if ((opt->binary && strcmp(e->binary, opt->binary) != 0) ||
	    (opt->kind && strcmp(profile_frame_kind_label(e->kind), opt->kind) != 0))
		return false;
	return exact ? !strcmp(e->name, opt->name) : strstr(e->name, opt->name) != NULL;
}

/* Index of the outermost frame of the selected function; @n if there is none. */
static size_t outermost(const struct calls *c, const uint32_t *ids, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (c->selected.data[ids[i]] == SELECTED_YES)
			return i;
	return n;
}

static int mark_selected(struct calls *c, const struct calls_options *opt, bool exact)
{
	while (c->selected.len < entries_count(c->entries)) {
		uint32_t id = (uint32_t)c->selected.len;
		struct entry e = entries_get(c->entries, id);
		int r = vec_push(&c->selected,
				 is_selected(opt, &e, exact) ? SELECTED_YES : SELECTED_NO);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The path of callees leads from the outermost occurrence to the leaf, the path of callers from
 * there to the root; both begin with the function itself.
 */
static int add_stack(struct calls *c, const struct calls_options *opt, bool exact, uint32_t stack,
		     int64_t value)
{
	const uint32_t *ids;
	size_t n, at;
	int r = entries_of_stack(c->entries, stack, &ids, &n);

	if (r < 0 || opt->direction == CALLS_ALL)
		return r < 0 ? r : add_path(c, ids, n, true, value);
	r = mark_selected(c, opt, exact);
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

/* Computes totals and the lists of children: the smallest child is pushed to the front first. */
static int finish(struct calls *c)
{
	_cleanup_(freep) uint32_t *order = calloc(c->nodes.len, sizeof(*order));
	struct calls_node *nodes = c->nodes.data;

	if (!order)
		return -ENOMEM;
	for (size_t i = c->nodes.len; i-- > 0;) {
		order[i] = (uint32_t)i;
		nodes[i].total = saturating_add(nodes[i].total, nodes[i].self);
		if (i)
			nodes[nodes[i].parent].total =
				saturating_add(nodes[nodes[i].parent].total, nodes[i].total);
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

/*
 * Sums values by stack, for stacks that the filter retains. Free the array; NULL if memory runs
 * out.
 */
static int64_t *sum_stacks(struct calls *c, const struct profile *p,
			   const struct calls_options *opt)
{
	_cleanup_(freep) uint8_t *retained = stack_filter_apply(&opt->filter, p);
	int64_t *sums = calloc((size_t)profile_n_stacks(p) + 1, sizeof(*sums));

	for (uint32_t i = 0; retained && sums && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t v = s.values[opt->value_num];

		c->sum = saturating_add(c->sum, v);
		if (retained[s.stack])
			sums[s.stack] = saturating_add(sums[s.stack], v);
	}
	if (!retained) {
		free(sums);
		return NULL;
	}
	return sums;
}

/*
 * The second attempt starts with an empty tree, and its marks are cleared since they were those of
 * the exact comparison. The index is empty then too: the first attempt added no node.
 */
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
		c->nodes.len = c->selected.len = 0;
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
