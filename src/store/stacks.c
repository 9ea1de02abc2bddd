/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A day's nodes are numbered by the day. Only those on the way to a value are
 * carried over, parents first, each found or made below its parent's number here.
 */
#include "store/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/symbols.h"

int stacks_new(struct stacks **out)
{
	_cleanup_(stacks_freep) struct stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = symbols_new(&s->symbols);
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

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	symbols_free(s->symbols);
	free(s->self);
	free(s);
}

struct carry {
	struct stacks *to;
	const struct symbols *from;
	bool names_only;
	uint32_t under;   /* what the root becomes */
	uint32_t *frames; /* by the day's frame: ours plus 1 */
	uint32_t *nodes;  /* by the day's node: ours */
	uint8_t *needed;
};

static void carry_fini(struct carry *c)
{
	free(c->frames);
	free(c->nodes);
	free(c->needed);
}

static int carry_string(struct carry *c, uint32_t id, uint32_t *out)
{
	return symbols_add_string(c->to->symbols, symbols_string(c->from, id),
				  symbols_string_len(c->from, id), out);
}

static int carry_frame(struct carry *c, uint32_t id, uint32_t *out)
{
	const struct symbols_frame *f = symbols_frame(c->from, id);
	struct symbols_frame mine = { 0 };
	int r;

	if (c->frames[id]) {
		*out = c->frames[id] - 1;
		return 0;
	}
	r = carry_string(c, f->name, &mine.name);
	if (r == 0 && !c->names_only) {
		mine.line = f->line;
		mine.kind = f->kind;
		r = carry_string(c, f->file, &mine.file);
		if (r == 0)
			r = carry_string(c, f->binary, &mine.binary);
	}
	if (r == 0)
		r = symbols_add_frame(c->to->symbols, &mine, out);
	if (r == 0)
		c->frames[id] = *out + 1;
	return r;
}

/* Room for the sum of @node, which is the last there is if it is new. */
static int make_room(struct stacks *s, uint32_t node)
{
	int r = 0;

	if (node >= s->cap)
		r = vec_grow((void **)&s->self, &s->cap, node + 1, sizeof(*s->self));
	while (r == 0 && s->n <= node)
		s->self[s->n++] = 0;
	return r;
}

int stacks_add_value(struct stacks *s, uint32_t node, int64_t value)
{
	int r = make_room(s, node);

	if (r < 0)
		return r;
	s->self[node] = stacks_sum(s->self[node], value);
	s->total = stacks_sum(s->total, value);
	return 0;
}

static int carry_node(struct carry *c, uint32_t id, int64_t value)
{
	const struct symbols_node *n = &symbols_nodes(c->from)[id];
	struct stacks *s = c->to;
	uint32_t frame, node = c->under;
	int r = 0;

	if (id) {
		r = carry_frame(c, n->frame, &frame);
		if (r == 0)
			r = symbols_add_node(s->symbols, c->nodes[n->parent], frame, &node);
	}
	if (r == 0)
		r = stacks_add_value(s, node, value);
	c->nodes[id] = node;
	return r;
}

static int carry_all(struct carry *c, const int64_t *self, size_t n)
{
	const struct symbols_node *nodes = symbols_nodes(c->from);
	size_t n_needed = 0;
	int r;

	c->frames = calloc(symbols_count(c->from, SYMBOLS_FRAMES) + 1, sizeof(*c->frames));
	c->nodes = calloc(n + 1, sizeof(*c->nodes));
	c->needed = calloc(n + 1, 1);
	if (!c->frames || !c->nodes || !c->needed)
		return -ENOMEM;
	for (size_t i = n; i-- > 0;) {
		c->needed[i] |= self[i] != 0;
		c->needed[nodes[i].parent] |= c->needed[i];
		n_needed += c->needed[i];
	}
	r = symbols_reserve_nodes(c->to->symbols, n_needed);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (c->needed[i])
			r = carry_node(c, i, self[i]);
	return r;
}

int stacks_add(struct stacks *s, const struct symbols *symbols, const int64_t *self, size_t n,
	       bool names_only)
{
	_cleanup_(
		carry_fini) struct carry c = { .to = s, .from = symbols, .names_only = names_only };

	return carry_all(&c, self, n);
}

int stacks_add_mapped(struct stacks *s, const struct symbols *symbols, const int64_t *self,
		      size_t n, uint32_t **out_nodes)
{
	_cleanup_(carry_fini) struct carry c = { .to = s, .from = symbols };
	int r = carry_all(&c, self, n);

	if (r == 0)
		*out_nodes = steal_ptr(&c.nodes);
	return r;
}

int stacks_add_under(struct stacks *s, const char *name, const struct stacks *part)
{
	_cleanup_(carry_fini) struct carry c = { .to = s, .from = part->symbols };
	struct symbols_frame frame = { 0 };
	uint32_t id;
	int r = symbols_add_string(s->symbols, name, strlen(name), &frame.name);

	if (r == 0)
		r = symbols_add_frame(s->symbols, &frame, &id);
	if (r == 0)
		r = symbols_add_node(s->symbols, 0, id, &c.under);
	if (r == 0)
		r = make_room(s, c.under);
	if (r < 0)
		return r;
	s->n_windows += part->n_windows;
	s->duration_ns += part->duration_ns;
	s->period = s->period ? s->period : part->period;
	return carry_all(&c, part->self, part->n);
}

/* Parents come first: how much of the call site a stack matches is its parent's, or one more. */
uint8_t *stacks_within(const struct symbols *symbols, const char *const *call_site, size_t n)
{
	uint32_t n_nodes = symbols_count(symbols, SYMBOLS_NODES);
	const struct symbols_node *nodes = symbols_nodes(symbols);
	_cleanup_(freep) uint32_t *matched = calloc((size_t)n_nodes + 1, sizeof(*matched));
	uint8_t *within = malloc((size_t)n_nodes + 1);

	for (uint32_t i = 0; matched && within && i < n_nodes; i++) {
		uint32_t up = i ? matched[nodes[i].parent] : 1; /* plus 1: 0 is no match */

		if (up == n + 1 || !i)
			matched[i] = up;
		else if (up && !strcmp(symbols_string(symbols,
						      symbols_frame(symbols, nodes[i].frame)->name),
				       call_site[up - 1]))
			matched[i] = up + 1;
		within[i] = matched[i] == n + 1;
	}
	if (!matched) {
		free(within);
		return NULL;
	}
	return within;
}

int stacks_keep_call_site(struct stacks *s, const char *const *call_site, size_t n)
{
	_cleanup_(freep) uint8_t *within = stacks_within(s->symbols, call_site, n);

	if (!within)
		return -ENOMEM;
	s->total = 0;
	for (size_t i = 0; i < s->n; i++) {
		s->self[i] = within[i] ? s->self[i] : 0;
		s->total = stacks_sum(s->total, s->self[i]);
	}
	return 0;
}
