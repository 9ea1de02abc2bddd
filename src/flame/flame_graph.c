/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each level is built from the one above. Walks keep a stack of their own, because profiles may be
 * deeper than the C stack allows.
 */
#include "flame/flame_graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/saturate.h"
#include "codec/common/wire.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"

#define NONE UINT32_MAX

struct builder {
	const struct flame_tree *s;
	struct flame_graph *out;
	uint32_t *name_ids; /* by string id: its index in names plus 1 */
	uint32_t other;
};

struct item {
	uint32_t node; /* NONE for the pruned siblings */
	int64_t x[FLAME_TREE_SIDES], total[FLAME_TREE_SIDES];
};

struct items {
	VEC(struct item);
};

static void items_fini(struct items *i)
{
	vec_fini(i);
}

void flame_graph_fini(struct flame_graph *f)
{
	for (size_t i = 0; i < f->levels.len; i++)
		vec_fini(&f->levels.data[i]);
	vec_fini(&f->levels);
	vec_fini(&f->names);
}

static int add_name(struct builder *b, const char *name, uint32_t *out)
{
	*out = (uint32_t)b->out->names.len;
	return vec_push(&b->out->names, name);
}

/* The index of a node's name in names; names are added when they are first used. */
static int bar_name(struct builder *b, uint32_t node, uint32_t *out)
{
	uint32_t string;
	int r = 0;

	*out = 0;
	if (!node)
		return 0;
	if (node == NONE) {
		if (b->other == NONE)
			r = add_name(b, "other", &b->other);
		*out = b->other;
		return r;
	}
	string = flame_tree_name(b->s, node);
	if (!b->name_ids[string]) {
		r = add_name(b, stack_dict_string(b->s->dict, string), out);
		b->name_ids[string] = *out + 1;
	}
	*out = b->name_ids[string] - 1;
	return r;
}

/* Values may have either sign, so the difference is computed without overflow. */
static int64_t gap(int64_t x, int64_t end)
{
	return (int64_t)((uint64_t)x - (uint64_t)end);
}

/* Appends the bar of a node; *@end is where the previous bar on each side ended. */
static int put_bar(struct builder *b, const struct item *it, int64_t *end,
		   struct flame_graph_level *to)
{
	struct flame_graph_bar bar = { 0 };
	int r = bar_name(b, it->node, &bar.name);

	for (size_t k = 0; k < b->s->n_sides; k++) {
		int64_t self = it->node == NONE ? it->total[k] : b->s->self[k][it->node];

		bar.side[k] =
			(struct flame_graph_segment){ gap(it->x[k], end[k]), it->total[k], self };
		end[k] = saturating_add(it->x[k], it->total[k]);
		if (self > b->out->max_self)
			b->out->max_self = self;
	}
	return r < 0 ? r : vec_push(to, bar);
}

static int put_level(struct builder *b, const struct items *items)
{
	int64_t end[FLAME_TREE_SIDES] = { 0 };
	int r = vec_push(&b->out->levels, (struct flame_graph_level){ 0 });

	for (size_t i = 0; r == 0 && i < items->len; i++)
		r = put_bar(b, &items->data[i], end, &b->out->levels.data[b->out->levels.len - 1]);
	return r;
}

/*
 * Appends the children of a node to the next level, after the node's self value. "other" comes
 * last: its position follows from the totals of the children before it.
 */
static int put_children(struct builder *b, const struct item *it, struct items *out)
{
	const struct flame_tree *s = b->s;
	struct item child = { .node = NONE };
	bool any = false;
	int r = 0;

	if (it->node == NONE)
		return 0;
	for (size_t k = 0; k < s->n_sides; k++)
		child.x[k] = saturating_add(it->x[k], s->self[k][it->node]);
	for (uint32_t i = s->first[it->node]; r == 0 && i < s->first[it->node + 1]; i++) {
		child.node = s->children[i];
		for (size_t k = 0; k < s->n_sides; k++)
			child.total[k] = s->total[k][child.node];
		r = vec_push(out, child);
		for (size_t k = 0; k < s->n_sides; k++)
			child.x[k] = saturating_add(child.x[k], child.total[k]);
	}
	child.node = NONE;
	for (size_t k = 0; k < s->n_sides; k++) {
		child.total[k] = s->other[k][it->node];
		any |= child.total[k] != 0;
	}
	return r == 0 && any ? vec_push(out, child) : r;
}

/*
 * Builds level after level until one has no children. Two lists swap roles, so memory is bounded by
 * the widest levels.
 */
static int put_levels(struct builder *b)
{
	_cleanup_(items_fini) struct items level = { 0 };
	struct item root = { .node = 0 };
	int r;

	for (size_t k = 0; k < b->s->n_sides; k++)
		root.total[k] = b->s->total[k][0];
	r = vec_push(&level, root);
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

int flame_graph_build(struct flame_graph *out, const struct flame_tree *s)
{
	uint32_t n_strings = stack_dict_count(s->dict, STACK_DICT_STRINGS);
	_cleanup_(freep) uint32_t *name_ids = calloc((size_t)n_strings + 1, sizeof(*name_ids));
	struct builder b = { .s = s, .out = out, .name_ids = name_ids, .other = NONE };

	if (!name_ids)
		return -ENOMEM;
	out->n_sides = s->n_sides;
	for (size_t k = 0; k < s->n_sides; k++) {
		out->ticks[k] = s->total[k][0];
		out->total = saturating_add(out->total, out->ticks[k]);
	}
	if (vec_push(&out->names, "total") < 0)
		return -ENOMEM;
	return put_levels(&b);
}

/* The root's name is empty in this format. */
static void put_node(const struct flame_tree *s, uint32_t node, uint32_t n_children,
		     struct buf *out)
{
	const char *name = stack_dict_string(s->dict, flame_tree_name(s, node));
	size_t len = node ? strlen(name) : 0;

	wire_put_varint(out, len);
	buf_put(out, name, len);
	wire_put_varint(out, (uint64_t)s->self[0][node]);
	wire_put_varint(out, n_children);
}

static void put_other(int64_t total, struct buf *out)
{
	wire_put_varint(out, strlen("other"));
	buf_put_str(out, "other");
	wire_put_varint(out, (uint64_t)total);
	wire_put_varint(out, 0);
}

/* Children are pushed in order, so the last sibling is written first. */
int flame_graph_write_tree(const struct flame_tree *s, struct buf *out)
{
	struct {
		VEC(uint32_t);
	} todo = { 0 };
	int r = vec_push(&todo, 0);

	while (r == 0 && todo.len) {
		uint32_t node = todo.data[--todo.len];
		uint32_t first = s->first[node], end = s->first[node + 1];
		bool other = s->other[0][node] != 0;

		put_node(s, node, end - first + other, out);
		if (other)
			put_other(s->other[0][node], out);
		for (uint32_t i = first; r == 0 && i < end; i++)
			r = vec_push(&todo, s->children[i]);
	}
	vec_fini(&todo);
	return r < 0 ? r : buf_error(out);
}
