/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is what people tell apart: name, file, binary, where the function
 * starts, kind. Addresses are not kept: a place without a function has a name
 * made of its file and offset.
 *
 * A profile of a service is mostly made of what those before it had. So a
 * frame is looked up by one hash of its texts, a stack by one hash of its frames;
 * only what is new goes through the tables of strings, frames and nodes.
 */
#include "store/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/name.h"
#include "profile/profile.h"
#include "store/symbols.h"

/* The texts of a function. */
struct function_key {
	struct memo_key name, file;
	bool made;
};

struct interning {
	struct intern *in;
	struct symbols *s;
	const struct profile *p;
	uint32_t *first;                /* by location: where its frames start below, plus 1 */
	struct function_key *functions; /* by function */
	struct {
		VEC(uint32_t);
	} frames, stack; /* of locations, outermost first, each run after its length; root first */
	struct buf name;
};

static void interning_fini(struct interning *w)
{
	free(w->first);
	free(w->functions);
	vec_fini(&w->frames);
	vec_fini(&w->stack);
	buf_fini(&w->name);
}

void intern_init(struct intern *in)
{
	memo_init(&in->frames);
	memo_init(&in->stacks);
}

void intern_fini(struct intern *in)
{
	memo_fini(&in->frames);
	memo_fini(&in->stacks);
}

static int add_string(struct interning *w, uint32_t id, uint32_t *out)
{
	return symbols_add_string(w->s, profile_string(w->p, id), profile_string_len(w->p, id),
				  out);
}

static int make_frame(struct interning *w, const struct profile_location *l, uint32_t i,
		      uint32_t *out)
{
	struct symbols_frame f = { .kind = (uint32_t)l->kind << 1 | profile_frame_inlined(l, i) };
	int r;

	w->name.len = 0;
	profile_put_frame_name(w->p, l, i, &w->name);
	if (buf_error(&w->name))
		return -ENOMEM;
	r = symbols_add_string(w->s, (const char *)w->name.data, w->name.len, &f.name);
	if (r == 0 && l->mapping != PROFILE_NONE)
		r = add_string(w, profile_mapping(w->p, l->mapping)->file, &f.binary);
	if (r == 0 && i < l->n_lines) {
		const struct profile_function *fn = profile_function(w->p, l->lines[i].function);

		f.line = fn->start_line;
		r = add_string(w, fn->file, &f.file);
	}
	return r < 0 ? r : symbols_add_frame(w->s, &f, out);
}

static struct memo_key text_key(const struct interning *w, uint32_t id)
{
	return memo_key(&w->in->frames, profile_string(w->p, id), profile_string_len(w->p, id));
}

/* Of all that make_frame() looks at; false: there is no name, so the address is in it. */
static bool frame_key(struct interning *w, const struct profile_location *l, uint32_t i,
		      struct memo_key *out)
{
	struct {
		struct memo_key name, file, binary;
		uint64_t line, kind, has_binary;
	} whole = { .kind = (uint64_t)l->kind << 1 | profile_frame_inlined(l, i) };
	const struct profile_function *fn;
	struct function_key *key;

	if (i >= l->n_lines)
		return false;
	fn = profile_function(w->p, l->lines[i].function);
	if (!fn->name && !fn->system_name)
		return false;
	key = &w->functions[l->lines[i].function];
	if (!key->made)
		*key = (struct function_key){ text_key(w, fn->name ? fn->name : fn->system_name),
					      text_key(w, fn->file), true };
	whole.name = key->name;
	whole.file = key->file;
	whole.line = fn->start_line;
	if (l->mapping != PROFILE_NONE) {
		whole.has_binary = 1;
		whole.binary = text_key(w, profile_mapping(w->p, l->mapping)->file);
	}
	*out = memo_key(&w->in->frames, &whole, sizeof(whole));
	return true;
}

static int add_frame(struct interning *w, const struct profile_location *l, uint32_t i,
		     uint32_t *out)
{
	struct memo_key key;
	int r;

	if (!frame_key(w, l, i, &key))
		return make_frame(w, l, i, out);
	if (memo_find(&w->in->frames, key, out))
		return 0;
	r = make_frame(w, l, i, out);
	if (r == 0)
		memo_add(&w->in->frames, key, *out);
	return r;
}

/* Put a location's frames, after their number, at the end of the list. */
static int add_location(struct interning *w, uint32_t id)
{
	struct profile_location l = profile_location(w->p, id);
	uint32_t n = profile_n_frames(&l), frame = 0;
	size_t at = w->frames.len;
	int r = vec_push(&w->frames, n);

	for (uint32_t i = n; r == 0 && i-- > 0;) {
		r = add_frame(w, &l, i, &frame);
		if (r == 0)
			r = vec_push(&w->frames, frame);
	}
	if (r == 0)
		w->first[id] = (uint32_t)at + 1;
	return r;
}

/* The stack's frames, root first. */
static int list_frames(struct interning *w, uint32_t stack)
{
	size_t depth;
	const uint32_t *ids = profile_stack(w->p, stack, &depth), *run;
	int r = 0;

	w->stack.len = 0;
	while (r == 0 && depth-- > 0) {
		if (!w->first[ids[depth]])
			r = add_location(w, ids[depth]);
		if (r < 0)
			return r;
		run = w->frames.data + w->first[ids[depth]] - 1;
		for (uint32_t i = 1; r == 0 && i <= run[0]; i++)
			r = vec_push(&w->stack, run[i]);
	}
	return r;
}

static int intern_stack(struct interning *w, uint32_t stack, uint32_t *out_node)
{
	struct memo_key key;
	int r = list_frames(w, stack);

	*out_node = 0;
	if (r < 0 || !w->stack.len)
		return r;
	key = memo_key(&w->in->stacks, w->stack.data, w->stack.len * sizeof(*w->stack.data));
	if (memo_find(&w->in->stacks, key, out_node))
		return 0;
	for (size_t i = 0; r == 0 && i < w->stack.len; i++)
		r = symbols_add_node(w->s, *out_node, w->stack.data[i], out_node);
	if (r == 0)
		memo_add(&w->in->stacks, key, *out_node);
	return r;
}

int intern_stacks(struct intern *in, struct symbols *s, const struct profile *p,
		  uint32_t *out_nodes)
{
	_cleanup_(interning_fini) struct interning w = { .in = in, .s = s, .p = p };
	int r = 0;

	w.first = calloc((size_t)profile_n_locations(p) + 1, sizeof(*w.first));
	w.functions = calloc((size_t)profile_n_functions(p) + 1, sizeof(*w.functions));
	if (!w.first || !w.functions)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < profile_n_stacks(p); i++)
		r = intern_stack(&w, i, &out_nodes[i]);
	return r;
}
