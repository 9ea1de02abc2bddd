/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source dictionary numbers nodes in its own way. Only nodes on the path to a value are copied,
 * parents first; each is found or added below its parent's copy.
 *
 * Two arrays map frames and nodes, so a frame that occurs in thousands of nodes is interned once
 * per call. Nodes without values below them are skipped because a dictionary serves many windows,
 * and one of them uses a small part of it. Groups of nodes (node_sums.h) without
 * a value are not read.
 */
#include "flame/merged_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/vec.h"
#include "flame/node_sums.h"
#include "flame/stack_dict.h"

int merged_stacks_new(struct merged_stacks **out)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = stack_dict_new(&s->dict);
	if (r < 0)
		return r;
	r = vec_grow((void **)&s->self, &s->cap, 1, sizeof(*s->self));
	if (r < 0)
		return r;
	s->self[0] = 0;
	s->n = 1;
	*out = steal_ptr(&s);
	return 0;
}

void merged_stacks_free(struct merged_stacks *s)
{
	if (!s)
		return;
	stack_dict_free(s->dict);
	free(s->self);
	free(s);
}

enum { GROUPS_PER_CHECK = 16 };

struct copier {
	struct merged_stacks *to;
	const struct stack_dict *from;
	bool names_only;
	uint32_t under;   /* the copy of the root */
	uint32_t *frames; /* by source frame: its copy plus 1 */
	uint32_t *nodes;  /* by source node: its copy */
	uint8_t *needed;
	uint8_t *groups; /* of nodes that are needed */
};

static void copier_fini(struct copier *c)
{
	free(c->frames);
	free(c->nodes);
	free(c->needed);
	free(c->groups);
}

static int copy_string(struct copier *c, uint32_t id, uint32_t *out)
{
	return stack_dict_add_string(c->to->dict, stack_dict_string(c->from, id),
				     stack_dict_string_len(c->from, id), out);
}

/* Copies a frame at most once; with names_only, frames of equal name become one. */
static int copy_frame(struct copier *c, uint32_t id, uint32_t *out)
{
	const struct stack_dict_frame *f = stack_dict_frame(c->from, id);
	struct stack_dict_frame copy = { 0 };
	int r;

	if (c->frames[id]) {
		*out = c->frames[id] - 1;
		return 0;
	}
	r = copy_string(c, f->name, &copy.name);
	if (r == 0 && !c->names_only) {
		copy.line = f->line;
		copy.kind = f->kind;
		r = copy_string(c, f->file, &copy.file);
		if (r == 0)
			r = copy_string(c, f->binary, &copy.binary);
	}
	if (r == 0)
		r = stack_dict_add_frame(c->to->dict, &copy, out);
	if (r == 0)
		c->frames[id] = *out + 1;
	return r;
}

/* Makes room for the value of @node, which is the last node if it is new. */
static int make_room(struct merged_stacks *s, uint32_t node)
{
	int r = 0;

	if (s->max_nodes && node >= s->max_nodes)
		return -EFBIG;
	if (node >= s->cap)
		r = vec_grow((void **)&s->self, &s->cap, node + 1, sizeof(*s->self));
	while (r == 0 && s->n <= node)
		s->self[s->n++] = 0;
	return r;
}

int merged_stacks_add_value(struct merged_stacks *s, uint32_t node, int64_t value)
{
	int r = make_room(s, node);

	if (r < 0)
		return r;
	s->self[node] = saturating_add(s->self[node], value);
	s->total = saturating_add(s->total, value);
	return 0;
}

static int make_arrays(struct copier *c, size_t n)
{
	c->frames = calloc(stack_dict_count(c->from, STACK_DICT_FRAMES) + 1, sizeof(*c->frames));
	c->nodes = calloc(n + 1, sizeof(*c->nodes));
	c->needed = calloc(n + 1, 1);
	c->groups = calloc(node_sums_n_groups(n) + 1, 1);
	return c->frames && c->nodes && c->needed && c->groups ? 0 : -ENOMEM;
}

static int copy_node(struct copier *c, uint32_t id, int64_t value)
{
	const struct stack_dict_node *n = stack_dict_node(stack_dict_nodes(c->from), id);
	struct merged_stacks *s = c->to;
	uint32_t frame, node = c->under;
	int r = 0;

	if (id) {
		r = copy_frame(c, n->frame, &frame);
		if (r == 0)
			r = stack_dict_add_node(s->dict, c->nodes[n->parent], frame, &node);
	}
	if (r == 0)
		r = merged_stacks_add_value(s, node, value);
	c->nodes[id] = node;
	return r;
}

/* Marks the nodes of group @g that have a value or a needed child, and their parents. */
static size_t mark_group(struct copier *c, size_t g, const struct node_sums *sums)
{
	const struct stable *nodes = stack_dict_nodes(c->from);
	size_t first = g << NODE_SUMS_GROUP_BITS, n_needed = 0;
	size_t end = first + (1u << NODE_SUMS_GROUP_BITS);

	for (size_t i = end < sums->n ? end : sums->n; i-- > first;) {
		uint32_t parent;

		c->needed[i] |= sums->values[i] != 0;
		if (!c->needed[i])
			continue;
		parent = stack_dict_node(nodes, (uint32_t)i)->parent;
		c->needed[parent] = 1;
		c->groups[parent >> NODE_SUMS_GROUP_BITS] = 1;
		c->groups[g] = 1;
		n_needed++;
	}
	return n_needed;
}

static int copy_group(struct copier *c, size_t g, const struct node_sums *sums)
{
	size_t first = g << NODE_SUMS_GROUP_BITS, end = first + (1u << NODE_SUMS_GROUP_BITS);
	int r = 0;

	for (size_t i = first; r == 0 && i < end && i < sums->n; i++)
		if (c->needed[i])
			r = copy_node(c, (uint32_t)i, sums->values[i]);
	return r;
}

/*
 * Marks the nodes on paths to values from the last node to the first, then copies the marked ones
 * in ascending order, so that each parent is copied before its children. Without sums->used, every
 * group may have values.
 */
static int copy_nodes(struct copier *c, const struct node_sums *sums)
{
	size_t n_groups = node_sums_n_groups(sums->n), n_needed = 0, n_copied = 0;
	int r = make_arrays(c, sums->n);

	for (size_t g = n_groups; r == 0 && g-- > 0;)
		if (c->groups[g] || !sums->used || sums->used[g])
			n_needed += mark_group(c, g, sums);
	if (r == 0)
		r = stack_dict_reserve_nodes(c->to->dict, n_needed);
	for (size_t g = 0; r == 0 && g < n_groups; g++) {
		if (!c->groups[g])
			continue;
		r = copy_group(c, g, sums);
		if (r == 0 && c->to->check && n_copied++ % GROUPS_PER_CHECK == 0)
			r = c->to->check(c->to->check_ctx);
	}
	return r;
}

int merged_stacks_add_sums(struct merged_stacks *s, const struct stack_dict *dict,
			   const struct node_sums *sums, bool names_only)
{
	_cleanup_(
		copier_fini) struct copier c = { .to = s, .from = dict, .names_only = names_only };

	return copy_nodes(&c, sums);
}

int merged_stacks_add_sums_mapped(struct merged_stacks *s, const struct stack_dict *dict,
				  const struct node_sums *sums, uint32_t **out_nodes)
{
	_cleanup_(copier_fini) struct copier c = { .to = s, .from = dict };
	int r = copy_nodes(&c, sums);

	if (r == 0)
		*out_nodes = steal_ptr(&c.nodes);
	return r;
}

/* Sums that the caller has in an array of its own; copying does not change them. */
static struct node_sums borrow(const int64_t *self, size_t n)
{
	return (struct node_sums){ .values = (int64_t *)self, .n = n };
}

int merged_stacks_add(struct merged_stacks *s, const struct stack_dict *dict, const int64_t *self,
		      size_t n, bool names_only)
{
	const struct node_sums sums = borrow(self, n);

	return merged_stacks_add_sums(s, dict, &sums, names_only);
}

int merged_stacks_add_mapped(struct merged_stacks *s, const struct stack_dict *dict,
			     const int64_t *self, size_t n, uint32_t **out_nodes)
{
	const struct node_sums sums = borrow(self, n);

	return merged_stacks_add_sums_mapped(s, dict, &sums, out_nodes);
}

/* The new top frame takes the place of @part's root: member under of the copier. */
int merged_stacks_add_subtree(struct merged_stacks *s, const char *name,
			      const struct merged_stacks *part)
{
	_cleanup_(copier_fini) struct copier c = { .to = s, .from = part->dict };
	struct stack_dict_frame frame = { 0 };
	struct node_sums sums;
	uint32_t id;
	int r = stack_dict_add_string(s->dict, name, strlen(name), &frame.name);

	if (r == 0)
		r = stack_dict_add_frame(s->dict, &frame, &id);
	if (r == 0)
		r = stack_dict_add_node(s->dict, 0, id, &c.under);
	if (r == 0)
		r = make_room(s, c.under);
	if (r < 0)
		return r;
	s->n_windows += part->n_windows;
	s->duration_ns += part->duration_ns;
	s->period = s->period ? s->period : part->period;
	sums = borrow(part->self, part->n);
	return copy_nodes(&c, &sums);
}

/*
 * Parents come first, so a stack matches as many names of the call site as its parent, or one more.
 */
uint8_t *merged_stacks_match_call_site(const struct stack_dict *dict, uint32_t n_nodes,
				       const char *const *call_site, size_t n_names)
{
	const struct stable *nodes = stack_dict_nodes(dict);
	_cleanup_(freep) uint32_t *matched = calloc((size_t)n_nodes + 1, sizeof(*matched));
	uint8_t *within = malloc((size_t)n_nodes + 1);

	for (uint32_t i = 0; matched && within && i < n_nodes; i++) {
		const struct stack_dict_node *n = stack_dict_node(nodes, i);
		uint32_t up = i ? matched[n->parent] : 1; /* plus 1, because 0 means no match */

		if (up == n_names + 1 || !i)
			matched[i] = up;
		else if (up &&
			 !strcmp(stack_dict_string(dict, stack_dict_frame(dict, n->frame)->name),
				 call_site[up - 1]))
			matched[i] = up + 1;
		within[i] = matched[i] == n_names + 1;
	}
	if (!matched) {
		free(within);
		return NULL;
	}
	return within;
}

int merged_stacks_filter_call_site(struct merged_stacks *s, const char *const *call_site, size_t n)
{
	_cleanup_(freep) uint8_t *within =
		merged_stacks_match_call_site(s->dict, (uint32_t)s->n, call_site, n);

	if (!within)
		return -ENOMEM;
	s->total = 0;
	for (size_t i = 0; i < s->n; i++) {
		s->self[i] = within[i] ? s->self[i] : 0;
		s->total = saturating_add(s->total, s->self[i]);
	}
	return 0;
}
