/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a location and the node of a stack are looked up once and cached by id, so a
 * sample whose stack occurred under the same root before costs one addition. The tree interns
 * its own strings, because the name of a location without a function is not in the profile.
 *
 * The cache of a stack's node holds one root. A stack that occurs below several roots in turn is
 * looked up frame by frame each time, which is slower but needs no table of pairs. Frames of a
 * location are stored outermost first, which is the reverse of a profile's order, because nodes are
 * created from the root.
 */
#include "profile/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

struct tree {
	struct strtab *strings;
	struct {
		VEC(struct tree_frame);
	} frames;
	struct {
		VEC(struct tree_node);
	} nodes;
	struct {
		VEC(uint32_t);
	} sample_nodes;
};

struct builder {
	const struct profile *p;
	struct tree *t;
	const struct tree_options *opt;
	struct index frame_index, node_index;
	uint32_t *first_frame; /* by location: 1 + index of its frames in frame_ids; 0: none yet */
	struct {
		VEC(uint32_t);
	} frame_ids; /* of locations, outermost first */
	struct {
		uint32_t under, node;
	} * stack_nodes; /* by stack: the node of its leaf below @under; node 0: none yet */
	struct buf name;
};

static void builder_fini(struct builder *b)
{
	index_fini(&b->frame_index);
	index_fini(&b->node_index);
	free(b->first_frame);
	free(b->stack_nodes);
	vec_fini(&b->frame_ids);
	buf_fini(&b->name);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	strtab_free(t->strings);
	vec_fini(&t->frames);
	vec_fini(&t->nodes);
	vec_fini(&t->sample_nodes);
	free(t);
}

struct frame_key {
	const struct tree *t;
	const struct tree_frame *f;
};

/*
 * Source file and line are not compared: the same function compiled into two files with two start
 * lines is one frame to a reader of a flame graph.
 */
static bool frame_eq(const void *ctx, uint32_t id)
{
	const struct frame_key *k = ctx;
	const struct tree_frame *f = &k->t->frames.data[id];

	return f->name == k->f->name && f->binary == k->f->binary && f->kind == k->f->kind &&
	       f->inlined == k->f->inlined && f->group == k->f->group;
}

static int add_frame(struct builder *b, const struct tree_frame *f, uint32_t *out_id)
{
	struct frame_key key = { b->t, f };
	uint32_t hash =
		hash_pair((uint64_t)f->name << 32 ^ (uint64_t)f->kind << 1 ^ f->inlined, f->binary);
	int r;

	if (index_find(&b->frame_index, hash, frame_eq, &key, out_id))
		return 0;
	*out_id = (uint32_t)b->t->frames.len;
	r = vec_push(&b->t->frames, *f);
	return r < 0 ? r : index_add(&b->frame_index, hash, *out_id);
}

struct node_key {
	const struct tree *t;
	uint32_t parent, frame;
};

static bool node_eq(const void *ctx, uint32_t id)
{
	const struct node_key *k = ctx;
	const struct tree_node *n = &k->t->nodes.data[id];

	return n->parent == k->parent && n->frame == k->frame;
}

static int add_node(struct builder *b, uint32_t parent, uint32_t frame, uint32_t *out_id)
{
	struct node_key key = { b->t, parent, frame };
	uint32_t hash = hash_u64((uint64_t)parent << 32 | frame);
	int r;

	if (index_find(&b->node_index, hash, node_eq, &key, out_id))
		return 0;
	if (b->t->nodes.len >= TREE_NONE - 1)
		return -ENOMEM;
	*out_id = (uint32_t)b->t->nodes.len;
	r = vec_push(&b->t->nodes, (struct tree_node){ .parent = parent, .frame = frame });
	return r < 0 ? r : index_add(&b->node_index, hash, *out_id);
}

static int add_string(struct builder *b, uint32_t id, uint32_t *out_id)
{
	return strtab_add(b->t->strings, profile_string(b->p, id), profile_string_len(b->p, id),
			  out_id);
}

/*
 * Fills in frame @i of a location. The start line of a function is preferred to the line of a call,
 * since calls from one function at two lines are one frame.
 */
static int make_frame(struct builder *b, const struct profile_location *l, uint32_t i,
		      struct tree_frame *out)
{
	int r;

	*out = (struct tree_frame){ .kind = l->kind, .inlined = profile_frame_inlined(l, i) };
	b->name.len = 0;
	profile_put_frame_name(b->p, l, i, &b->name);
	if (buf_error(&b->name))
		return -ENOMEM;
	r = strtab_add(b->t->strings, (const char *)b->name.data, b->name.len, &out->name);
	if (r == 0 && l->mapping != PROFILE_NONE)
		r = add_string(b, profile_mapping(b->p, l->mapping)->file, &out->binary);
	if (r == 0 && i < l->n_lines) {
		const struct profile_function *f = profile_function(b->p, l->lines[i].function);

		out->line = f->start_line ? f->start_line : l->lines[i].line;
		r = add_string(b, f->file, &out->file);
	}
	return r;
}

/* Finds or appends the frames of a location in frame_ids; *@out_first is the outermost. */
static int location_frames(struct builder *b, uint32_t id, const struct profile_location *l,
			   uint32_t *out_first)
{
	uint32_t first = (uint32_t)b->frame_ids.len;

	if (b->first_frame[id]) {
		*out_first = b->first_frame[id] - 1;
		return 0;
	}
	for (uint32_t i = profile_location_n_frames(l); i-- > 0;) {
		struct tree_frame f;
		uint32_t frame;
		int r = make_frame(b, l, i, &f);

		if (r == 0)
			r = add_frame(b, &f, &frame);
		if (r == 0)
			r = vec_push(&b->frame_ids, frame);
		if (r < 0)
			return r;
	}
	b->first_frame[id] = first + 1;
	*out_first = first;
	return 0;
}

static int add_location(struct builder *b, uint32_t id, uint32_t *node)
{
	struct profile_location l = profile_location(b->p, id);
	uint32_t first;
	int r = location_frames(b, id, &l, &first);

	for (uint32_t i = 0; r == 0 && i < profile_location_n_frames(&l); i++)
		r = add_node(b, *node, b->frame_ids.data[first + i], node);
	return r;
}

/* Finds or adds the node of a stack's leaf, with the stack's root below node @under. */
static int stack_node(struct builder *b, uint32_t stack, uint32_t under, uint32_t *out_node)
{
	uint32_t node = under;
	const uint32_t *ids;
	size_t depth;
	int r = 0;

	if (b->stack_nodes[stack].node && b->stack_nodes[stack].under == under) {
		*out_node = b->stack_nodes[stack].node;
		return 0;
	}
	ids = profile_stack(b->p, stack, &depth);
	while (r == 0 && depth-- > 0)
		r = add_location(b, ids[depth], &node);
	if (r < 0)
		return r;
	b->stack_nodes[stack].under = under;
	b->stack_nodes[stack].node = node;
	*out_node = node;
	return 0;
}

/* The node for the value of the root label; the root if the sample does not have the label. */
static int root_node(struct builder *b, const struct profile_sample *s, uint32_t *out_node)
{
	struct tree_frame f = { .group = true };
	uint32_t frame, i = 0;
	int r;

	*out_node = 0;
	if (!b->opt->root_label)
		return 0;
	while (i < s->n_labels &&
	       strcmp(profile_string(b->p, s->labels[i].key), b->opt->root_label))
		i++;
	if (i == s->n_labels)
		return 0;
	b->name.len = 0;
	if (s->labels[i].str)
		buf_put(&b->name, profile_string(b->p, s->labels[i].str),
			profile_string_len(b->p, s->labels[i].str));
	else
		buf_printf(&b->name, "%" PRId64, s->labels[i].num);
	if (buf_error(&b->name))
		return -ENOMEM;
	r = strtab_add(b->t->strings, (const char *)b->name.data, b->name.len, &f.name);
	if (r == 0)
		r = add_frame(b, &f, &frame);
	return r < 0 ? r : add_node(b, 0, frame, out_node);
}

static int add_samples(struct builder *b)
{
	for (uint32_t i = 0; i < profile_n_samples(b->p); i++) {
		struct profile_sample s = profile_sample(b->p, i);
		struct tree_node *n;
		uint32_t node;
		int r = root_node(b, &s, &node);

		if (r == 0)
			r = stack_node(b, s.stack, node, &node);
		if (r == 0)
			r = vec_push(&b->t->sample_nodes, node);
		if (r < 0)
			return r;
		n = &b->t->nodes.data[node];
		n->self = saturating_add(n->self, s.values[b->opt->value_num]);
	}
	return 0;
}

/* Children have larger numbers than their parents, so their totals are complete first. */
static void compute_totals(struct tree *t)
{
	for (size_t i = t->nodes.len; i-- > 0;) {
		struct tree_node *n = &t->nodes.data[i], *parent;

		n->total = saturating_add(n->total, n->self);
		if (i) {
			parent = &t->nodes.data[n->parent];
			parent->total = saturating_add(parent->total, n->total);
		}
	}
}

static int builder_init(struct builder *b)
{
	const struct tree_node root = { .parent = TREE_NONE, .frame = TREE_NONE };
	int r;

	b->t = calloc(1, sizeof(*b->t));
	b->first_frame = calloc((size_t)profile_n_locations(b->p) + 1, sizeof(*b->first_frame));
	b->stack_nodes = calloc((size_t)profile_n_stacks(b->p) + 1, sizeof(*b->stack_nodes));
	if (!b->t || !b->first_frame || !b->stack_nodes)
		return -ENOMEM;
	r = strtab_new(&b->t->strings);
	return r < 0 ? r : vec_push(&b->t->nodes, root);
}

int tree_build(struct tree **out, const struct profile *p, const struct tree_options *opt)
{
	static const struct tree_options none;
	_cleanup_(builder_fini) struct builder b = { .p = p, .opt = opt ? opt : &none };
	int r;

	if (b.opt->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	r = builder_init(&b);
	if (r == 0)
		r = add_samples(&b);
	if (r < 0) {
		tree_free(b.t);
		return r;
	}
	compute_totals(b.t);
	*out = b.t;
	return 0;
}

uint32_t tree_n_nodes(const struct tree *t)
{
	return (uint32_t)t->nodes.len;
}

const struct tree_node *tree_node(const struct tree *t, uint32_t i)
{
	return &t->nodes.data[i];
}

uint32_t tree_sample_node(const struct tree *t, uint32_t sample)
{
	return t->sample_nodes.data[sample];
}

uint32_t tree_n_frames(const struct tree *t)
{
	return (uint32_t)t->frames.len;
}

const struct tree_frame *tree_frame(const struct tree *t, uint32_t i)
{
	return &t->frames.data[i];
}

const char *tree_string(const struct tree *t, uint32_t id)
{
	return strtab_get(t->strings, id);
}
