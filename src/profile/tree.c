/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A location's frames are looked up once and kept by its id, a stack's node
 * likewise: a sample whose stack was seen under the same root costs one
 * addition. Names are interned anew, because a location without a function
 * has one that the profile does not hold.
 */
#include "profile/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/name.h"
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
	uint32_t *first_frame; /* by location: where its frames start below, plus 1 */
	struct {
		VEC(uint32_t);
	} frame_ids; /* of locations, outermost first */
	struct {
		uint32_t under, node;
	} * stack_nodes; /* by stack: the leaf's node, when its root was @under */
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

static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct frame_key {
	const struct tree *t;
	const struct tree_frame *f;
};

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
	uint32_t hash = hash_u64((uint64_t)f->name << 32 ^ (uint64_t)f->binary << 16 ^
				 (uint64_t)f->kind << 1 ^ f->inlined);
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

/* Frame @i of a location, as people see it. */
static int describe(struct builder *b, const struct profile_location *l, uint32_t i,
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

/* Where the frames of a location are in frame_ids; it has profile_n_frames() of them. */
static int location_frames(struct builder *b, uint32_t id, const struct profile_location *l,
			   uint32_t *out_first)
{
	uint32_t first = (uint32_t)b->frame_ids.len;

	if (b->first_frame[id]) {
		*out_first = b->first_frame[id] - 1;
		return 0;
	}
	for (uint32_t i = profile_n_frames(l); i-- > 0;) {
		struct tree_frame f;
		uint32_t frame;
		int r = describe(b, l, i, &f);

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

	for (uint32_t i = 0; r == 0 && i < profile_n_frames(&l); i++)
		r = add_node(b, *node, b->frame_ids.data[first + i], node);
	return r;
}

/* The node of a stack's leaf below node @under. */
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

/* The node that stands for the sample's value of the root label; the root if it has none. */
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
		n->self = add_saturated(n->self, s.values[b->opt->value_num]);
	}
	return 0;
}

static void sum_up(struct tree *t)
{
	for (size_t i = t->nodes.len; i-- > 0;) {
		struct tree_node *n = &t->nodes.data[i], *parent;

		n->total = add_saturated(n->total, n->self);
		if (i) {
			parent = &t->nodes.data[n->parent];
			parent->total = add_saturated(parent->total, n->total);
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
	sum_up(b.t);
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

uint32_t tree_n_strings(const struct tree *t)
{
	return strtab_count(t->strings);
}

const char *tree_string(const struct tree *t, uint32_t id)
{
	return strtab_get(t->strings, id);
}

size_t tree_string_len(const struct tree *t, uint32_t id)
{
	return strtab_len(t->strings, id);
}
