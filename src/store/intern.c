/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is what people tell apart: name, file, binary, where the function
 * starts, kind. Addresses are not kept: a place without a function has a name
 * made of its file and offset. A location's frames are found once.
 */
#include "store/intern.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/name.h"
#include "profile/profile.h"
#include "store/symbols.h"

struct interning {
	struct symbols *s;
	const struct profile *p;
	uint32_t *first; /* by location: where its frames start below, plus 1 */
	struct {
		VEC(uint32_t);
	} frames; /* of locations, outermost first, each run after its length */
	struct buf name;
};

static void interning_fini(struct interning *in)
{
	free(in->first);
	vec_fini(&in->frames);
	buf_fini(&in->name);
}

static int add_string(struct interning *in, uint32_t id, uint32_t *out)
{
	return symbols_add_string(in->s, profile_string(in->p, id), profile_string_len(in->p, id),
				  out);
}

static int add_frame(struct interning *in, const struct profile_location *l, uint32_t i,
		     uint32_t *out)
{
	struct symbols_frame f = { .kind = (uint32_t)l->kind << 1 | profile_frame_inlined(l, i) };
	int r;

	in->name.len = 0;
	profile_put_frame_name(in->p, l, i, &in->name);
	if (buf_error(&in->name))
		return -ENOMEM;
	r = symbols_add_string(in->s, (const char *)in->name.data, in->name.len, &f.name);
	if (r == 0 && l->mapping != PROFILE_NONE)
		r = add_string(in, profile_mapping(in->p, l->mapping)->file, &f.binary);
	if (r == 0 && i < l->n_lines) {
		const struct profile_function *fn = profile_function(in->p, l->lines[i].function);

		f.line = fn->start_line;
		r = add_string(in, fn->file, &f.file);
	}
	return r < 0 ? r : symbols_add_frame(in->s, &f, out);
}

/* Put a location's frames, after their number, at the end of the list. */
static int add_location(struct interning *in, uint32_t id)
{
	struct profile_location l = profile_location(in->p, id);
	uint32_t n = profile_n_frames(&l), frame = 0;
	size_t at = in->frames.len;
	int r = vec_push(&in->frames, n);

	for (uint32_t i = n; r == 0 && i-- > 0;) {
		r = add_frame(in, &l, i, &frame);
		if (r == 0)
			r = vec_push(&in->frames, frame);
	}
	if (r == 0)
		in->first[id] = (uint32_t)at + 1;
	return r;
}

static int intern_stack(struct interning *in, uint32_t stack, uint32_t *out_node)
{
	uint32_t node = 0;
	size_t depth;
	const uint32_t *ids = profile_stack(in->p, stack, &depth), *run;
	int r = 0;

	while (r == 0 && depth-- > 0) {
		if (!in->first[ids[depth]])
			r = add_location(in, ids[depth]);
		if (r < 0)
			return r;
		run = in->frames.data + in->first[ids[depth]] - 1;
		for (uint32_t i = 1; r == 0 && i <= run[0]; i++)
			r = symbols_add_node(in->s, node, run[i], &node);
	}
	*out_node = node;
	return r;
}

int intern_stacks(struct symbols *s, const struct profile *p, uint32_t *out_nodes)
{
	_cleanup_(interning_fini) struct interning in = { .s = s, .p = p };
	int r = 0;

	in.first = calloc((size_t)profile_n_locations(p) + 1, sizeof(*in.first));
	if (!in.first)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < profile_n_stacks(p); i++)
		r = intern_stack(&in, i, &out_nodes[i]);
	return r;
}
