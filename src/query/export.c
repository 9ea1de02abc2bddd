/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame becomes a function and a location of it; frames of one binary share
 * a mapping. Addresses are not kept in the store and stay 0.
 */
#include "query/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "codec/page_json.h"
#include "profile/profile.h"
#include "query/calls.h"
#include "store/stacks.h"
#include "store/store.h"
#include "store/symbols.h"

struct exporter {
	const struct stacks *s;
	struct profile *p;
	const char *label;   /* that outermost frames are values of; or NULL */
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
	return profile_add_string(x->p, symbols_string(x->s->symbols, id),
				  symbols_string_len(x->s->symbols, id), out);
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

static int put_frame(struct exporter *x, uint32_t id)
{
	const struct symbols_frame *f = symbols_frame(x->s->symbols, id);
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

/* The outermost frame is a label instead. */
static int take_label(struct exporter *x, uint32_t frame, struct profile_label *out)
{
	int r = put_text(x, x->label, &out->key);

	x->stack.len--;
	return r < 0 ? r : put_string(x, symbols_frame(x->s->symbols, frame)->name, &out->str);
}

static int put_stack(struct exporter *x, uint32_t node)
{
	const struct symbols_node *nodes = symbols_nodes(x->s->symbols);
	struct profile_sample sample = { .values = &x->s->self[node] };
	struct profile_label label = { 0 };
	uint32_t outermost = 0;
	int r = 0;

	x->stack.len = 0;
	for (uint32_t i = node; r == 0 && i; i = nodes[i].parent) {
		outermost = nodes[i].frame;
		r = vec_push(&x->stack, x->locations[outermost]);
	}
	if (r == 0 && x->label && x->stack.len) {
		r = take_label(x, outermost, &label);
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

int export_profile(struct profile **out, const struct stacks *s, const struct store_type *type,
		   int64_t start_ns, const char *label)
{
	_cleanup_(exporter_fini) struct exporter x = { .s = s, .label = label };
	uint32_t n_frames = symbols_count(s->symbols, SYMBOLS_FRAMES);
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

static int add_stack_frames(struct page_tree *out, const struct symbols *s)
{
	uint32_t n = symbols_count(s, SYMBOLS_FRAMES);
	int r = vec_reserve(&out->frames, (size_t)n + 1);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct symbols_frame *f = symbols_frame(s, i);

		out->frames.data[out->frames.len++] = (struct page_frame){
			.name = symbols_string(s, f->name),
			.file = symbols_string(s, f->file),
			.binary = symbols_string(s, f->binary),
			.kind = profile_frame_kind_label(f->kind >> 1),
			.line = f->line,
			.inlined = f->kind & 1,
		};
	}
	return r;
}

int export_tree(struct page_tree *out, const struct stacks *s, const int64_t *self,
		const struct store_type *type, int64_t start_ns)
{
	const struct symbols_node *nodes = symbols_nodes(s->symbols);
	int r = add_stack_frames(out, s->symbols);

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
			n.parent = nodes[i].parent;
			n.frame = nodes[i].frame;
		}
		out->nodes.data[out->nodes.len++] = n;
		out->total = stacks_sum(out->total, v);
	}
	return 0;
}

static int add_call(struct page_tree *out, const struct calls *c, uint32_t i)
{
	const struct calls_node *n = calls_node(c, i);
	struct page_node node = { n->parent, PAGE_NONE, n->self };
	struct page_frame f;
	struct entry e;
	int r = 0;

	out->total = stacks_sum(out->total, n->self);
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
