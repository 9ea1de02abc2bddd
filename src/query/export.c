/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame becomes a location with one function; frames of one binary share a mapping. The store has
 * no addresses, so they are 0.
 *
 * The kind of a stored frame is the profile's kind shifted left by one, with the inlined flag in
 * bit 0. A profile cannot express that flag without the addresses that share a location, so only
 * the page's tree shows it.
 */
#include "query/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/vec.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/store.h"
#include "tables/calls.h"

struct exporter {
	const struct merged_stacks *s;
	struct profile *p;
	const char *label;   /* the label whose values the outermost frames are; or NULL */
	uint32_t *locations; /* by frame */
	struct {
		VEC(uint32_t);
	} stack;
};

static void exporter_fini(struct exporter *x)
{
	profile_free(x->p);
	free(x->locations);
	vec_fini(&x->stack);
}

static int put_string(struct exporter *x, uint32_t id, uint32_t *out)
{
	return profile_add_string(x->p, stack_dict_string(x->s->dict, id),
				  stack_dict_string_len(x->s->dict, id), out);
}

static int put_text(struct exporter *x, const char *s, uint32_t *out)
{
	return profile_add_string(x->p, s, strlen(s), out);
}

static int put_mapping(struct exporter *x, uint32_t binary, uint32_t *out)
{
	struct profile_mapping m = { .has_functions = true };
	int r = put_string(x, binary, &m.file);

	return r < 0 ? r : profile_add_mapping(x->p, &m, out);
}

/* The line of a stored frame is where its function begins. */
static int put_frame(struct exporter *x, uint32_t id)
{
	const struct stack_dict_frame *f = stack_dict_frame(x->s->dict, id);
	struct profile_function fn = { .start_line = f->line };
	struct profile_line line = { 0 };
	struct profile_location l = { .n_lines = 1,
				      .lines = &line,
				      .kind = (uint8_t)(f->kind >> 1) };
	int r = put_string(x, f->name, &fn.name);

	fn.system_name = fn.name;
	if (r == 0)
		r = put_string(x, f->file, &fn.file);
	if (r == 0)
		r = profile_add_function(x->p, &fn, &line.function);
	if (r == 0)
		r = put_mapping(x, f->binary, &l.mapping);
	return r < 0 ? r : profile_add_location(x->p, &l, &x->locations[id]);
}

/* Turns the outermost frame into a label of the sample. */
static int extract_label(struct exporter *x, uint32_t frame, struct profile_label *out)
{
	int r = put_text(x, x->label, &out->key);

	x->stack.len--;
	return r < 0 ? r : put_string(x, stack_dict_frame(x->s->dict, frame)->name, &out->str);
}

/*
 * Adds a sample for the value of a node; profile stacks are leaf first, as is the walk to the root.
 */
static int put_stack(struct exporter *x, uint32_t node)
{
	const struct stable *nodes = stack_dict_nodes(x->s->dict);
	struct profile_sample sample = { .values = &x->s->self[node] };
	struct profile_label label = { 0 };
	uint32_t outermost = 0;
	int r = 0;

	x->stack.len = 0;
	for (uint32_t i = node; r == 0 && i; i = stack_dict_node(nodes, i)->parent) {
		outermost = stack_dict_node(nodes, i)->frame;
		r = vec_push(&x->stack, x->locations[outermost]);
	}
	if (r == 0 && x->label && x->stack.len) {
		r = extract_label(x, outermost, &label);
		sample.labels = &label;
		sample.n_labels = 1;
	}
	if (r == 0)
		r = profile_add_stack(x->p, x->stack.data, x->stack.len, &sample.stack);
	return r < 0 ? r : profile_add_sample(x->p, &sample);
}

static int put_meta(struct exporter *x, const struct store_type *type, int64_t start_ns)
{
	struct profile_meta *meta = profile_meta(x->p);
	int r = profile_add_sample_type(x->p, type->type, type->unit);

	if (r == 0)
		r = put_text(x, type->period_type, &meta->period_type.type);
	if (r == 0)
		r = put_text(x, type->period_unit, &meta->period_type.unit);
	meta->time_ns = start_ns;
	meta->duration_ns = x->s->duration_ns;
	meta->period = x->s->period;
	return r;
}

int export_profile(struct profile **out, const struct merged_stacks *s,
		   const struct store_type *type, int64_t start_ns, const char *label)
{
	_cleanup_(exporter_fini) struct exporter x = { .s = s, .label = label };
	uint32_t n_frames = stack_dict_count(s->dict, STACK_DICT_FRAMES);
	int r = profile_new(&x.p);

	if (r < 0)
		return r;
	x.locations = malloc(((size_t)n_frames + 1) * sizeof(*x.locations));
	if (!x.locations)
		return -ENOMEM;
	r = put_meta(&x, type, start_ns);
	for (uint32_t i = 0; r == 0 && i < n_frames; i++)
		r = put_frame(&x, i);
	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		if (s->self[i])
			r = put_stack(&x, i);
	if (r == 0)
		*out = steal_ptr(&x.p);
	return r;
}

static int add_stack_frames(struct page_tree *out, const struct stack_dict *s)
{
	uint32_t n = stack_dict_count(s, STACK_DICT_FRAMES);
	int r = vec_reserve(&out->frames, (size_t)n + 1);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct stack_dict_frame *f = stack_dict_frame(s, i);

		out->frames.data[out->frames.len++] = (struct page_frame){
			.name = stack_dict_string(s, f->name),
			.file = stack_dict_string(s, f->file),
			.binary = stack_dict_string(s, f->binary),
			.kind = profile_frame_kind_label(f->kind >> 1),
			.line = f->line,
			.inlined = f->kind & 1,
		};
	}
	return r;
}

/*
 * Nodes keep their numbers. Samples refer to them, and trees of several value arrays of one merge
 * have equal nodes.
 */
int export_tree(struct page_tree *out, const struct merged_stacks *s, const int64_t *self,
		const struct store_type *type, int64_t start_ns)
{
	const struct stable *nodes = stack_dict_nodes(s->dict);
	int r = add_stack_frames(out, s->dict);

	if (r == 0)
		r = vec_reserve(&out->nodes, s->n);
	if (r < 0)
		return r;
	out->type = type->type;
	out->unit = type->unit;
	out->time_ns = start_ns;
	out->duration_ns = s->duration_ns;
	out->period_ns = strcmp(type->period_unit, "nanoseconds") == 0 ? s->period : 0;
	for (size_t i = 0; i < s->n; i++) {
		int64_t v = self ? self[i] : s->self[i];
		struct page_node n = { PAGE_NONE, PAGE_NONE, v };

		if (i) {
			n.parent = stack_dict_node(nodes, (uint32_t)i)->parent;
			n.frame = stack_dict_node(nodes, (uint32_t)i)->frame;
		}
		out->nodes.data[out->nodes.len++] = n;
		out->total = saturating_add(out->total, v);
	}
	return 0;
}

/*
 * Nodes refer to entries by number, and an entry can appear in nodes in any order, so the list of
 * frames is padded until it holds the entry.
 */
static int add_call(struct page_tree *out, const struct calls *c, uint32_t i)
{
	const struct calls_node *n = calls_node(c, i);
	struct page_node node = { n->parent, PAGE_NONE, n->self };
	struct page_frame f;
	struct entry e;
	int r = 0;

	out->total = saturating_add(out->total, n->self);
	if (i) {
		e = calls_entry(c, n);
		f = (struct page_frame){ .name = e.name,
					 .file = e.file,
					 .binary = e.binary,
					 .kind = profile_frame_kind_label(e.kind) };
		node.frame = n->entry;
		while (r == 0 && out->frames.len <= n->entry)
			r = vec_push(&out->frames, (struct page_frame){ 0 });
		if (r == 0)
			out->frames.data[n->entry] = f;
	}
	return r < 0 ? r : vec_push(&out->nodes, node);
}

int export_calls(struct page_tree *out, const struct calls *c, const struct store_type *type)
{
	int r = 0;

	out->type = type->type;
	out->unit = type->unit;
	for (uint32_t i = 0; r == 0 && i < calls_n_nodes(c); i++)
		r = add_call(out, c, i);
	return r;
}
