/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame is identified by what users distinguish: name, file, binary, start line and kind.
 * Addresses are not stored; a location without a function gets a name made of its file and offset.
 *
 * A key covers texts, never ids, because ids of strings differ from profile to profile. It must
 * cover everything that make_frame() stores: a field that is missing here would give two different
 * frames one id. A stack's key is a hash over the keys of its locations, and a location's key one
 * over its frames, so each text is hashed once per profile however often it occurs.
 */
#include "store/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "flame/stack_dict.h"
#include "profile/frame_name.h"
#include "profile/profile.h"

/* Keys: computed before the writer's turn, by the thread that appends. */
struct function_key {
	struct id_cache_key name, file;
	bool made;
};

struct key_builder {
	const struct profile *p;
	uint64_t seed;
	struct function_key *functions; /* indexed by function */
	struct id_cache_key *binaries;  /* indexed by mapping */
	struct id_cache_key *locations; /* indexed by location */
	struct {
		VEC(struct id_cache_key);
	} frames, stack;
	struct buf name;
};

static void key_builder_fini(struct key_builder *m)
{
	free(m->functions);
	free(m->binaries);
	free(m->locations);
	vec_fini(&m->frames);
	vec_fini(&m->stack);
	buf_fini(&m->name);
}

void intern_keys_fini(struct intern_keys *k)
{
	free(k->stacks);
	free(k->frames);
	free(k->first);
	*k = (struct intern_keys){ 0 };
}

static struct id_cache_key text_key(const struct key_builder *m, uint32_t id)
{
	return id_cache_key(m->seed, profile_string(m->p, id), profile_string_len(m->p, id));
}

/*
 * All frames of a named function share the key; a function without a name is keyed by the
 * location's address.
 */
static struct id_cache_key name_key(struct key_builder *m, const struct profile_location *l,
				    uint32_t i)
{
	const struct profile_function *fn;
	uint32_t name = 0;

	if (i < l->n_lines) {
		fn = profile_function(m->p, l->lines[i].function);
		name = fn->name ? fn->name : fn->system_name;
	}
	if (name)
		return text_key(m, name);
	m->name.len = 0;
	profile_put_frame_name(m->p, l, i, &m->name);
	return id_cache_key(m->seed, m->name.data, m->name.len);
}

/*
 * Hashes what identifies a frame. Keys of functions are computed once per profile. A function
 * without any name gets its name from the location, so its cached key is computed again for each
 * location.
 */
static struct id_cache_key frame_key(struct key_builder *m, const struct profile_location *l,
				     uint32_t i)
{
	struct {
		struct id_cache_key name, file, binary;
		uint64_t line, kind;
	} whole = { .kind = (uint64_t)l->kind << 1 | profile_frame_inlined(l, i) };

	if (l->mapping != PROFILE_NONE)
		whole.binary = m->binaries[l->mapping];
	if (i < l->n_lines) {
		const struct profile_function *fn = profile_function(m->p, l->lines[i].function);
		struct function_key *key = &m->functions[l->lines[i].function];

		if (!key->made || (!fn->name && !fn->system_name))
			*key = (struct function_key){ name_key(m, l, i), text_key(m, fn->file),
						      true };
		whole.name = key->name;
		whole.file = key->file;
		whole.line = fn->start_line;
	} else {
		whole.name = name_key(m, l, i);
	}
	return id_cache_key(m->seed, &whole, sizeof(whole));
}

static int make_location_key(struct key_builder *m, uint32_t id)
{
	struct profile_location l = profile_location(m->p, id);
	uint32_t n = profile_location_n_frames(&l);
	size_t at = m->frames.len;

	for (uint32_t i = 0; i < n; i++)
		if (vec_push(&m->frames, frame_key(m, &l, i)) < 0)
			return -ENOMEM;
	m->locations[id] =
		n == 1 ? m->frames.data[at]
		       : id_cache_key(m->seed, m->frames.data + at, n * sizeof(*m->frames.data));
	return 0;
}

static int make_stack_key(struct key_builder *m, uint32_t stack, struct id_cache_key *out)
{
	size_t n;
	const uint32_t *ids = profile_stack(m->p, stack, &n);

	if (vec_reserve(&m->stack, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		m->stack.data[i] = m->locations[ids[i]];
	*out = id_cache_key(m->seed, m->stack.data, n * sizeof(*m->stack.data));
	return 0;
}

static int build_keys(struct key_builder *m, struct intern_keys *out)
{
	int r = 0;

	for (uint32_t i = 0; i < profile_n_mappings(m->p); i++)
		m->binaries[i] = text_key(m, profile_mapping(m->p, i)->file);
	for (uint32_t i = 0; r == 0 && i < profile_n_locations(m->p); i++) {
		out->first[i] = (uint32_t)m->frames.len;
		r = make_location_key(m, i);
	}
	for (uint32_t i = 0; r == 0 && i < profile_n_stacks(m->p); i++)
		r = make_stack_key(m, i, &out->stacks[i]);
	return r < 0 ? r : buf_error(&m->name);
}

int intern_keys_build(struct intern_keys *out, const struct profile *p)
{
	_cleanup_(key_builder_fini) struct key_builder m = { .p = p, .seed = hash_seed() };
	_cleanup_(intern_keys_fini) struct intern_keys k = { 0 };
	int r;

	k.stacks = calloc((size_t)profile_n_stacks(p) + 1, sizeof(*k.stacks));
	k.first = calloc((size_t)profile_n_locations(p) + 1, sizeof(*k.first));
	m.functions = calloc((size_t)profile_n_functions(p) + 1, sizeof(*m.functions));
	m.binaries = calloc((size_t)profile_n_mappings(p) + 1, sizeof(*m.binaries));
	m.locations = calloc((size_t)profile_n_locations(p) + 1, sizeof(*m.locations));
	if (!k.stacks || !k.first || !m.functions || !m.binaries || !m.locations)
		return -ENOMEM;
	r = build_keys(&m, &k);
	if (r < 0)
		return r;
	k.frames = steal_ptr(&m.frames.data);
	*out = k;
	k = (struct intern_keys){ 0 };
	return 0;
}

void intern_fini(struct intern *in)
{
	id_cache_fini(&in->frames);
	id_cache_fini(&in->stacks);
}

/* Nodes: looked up or added by the writer thread. */
struct interner {
	struct intern *in;
	struct stack_dict *s;
	const struct profile *p;
	const struct intern_keys *keys;
	struct buf name;
};

static void interner_fini(struct interner *w)
{
	buf_fini(&w->name);
}

static int add_string(struct interner *w, uint32_t id, uint32_t *out)
{
	return stack_dict_add_string(w->s, profile_string(w->p, id), profile_string_len(w->p, id),
				     out);
}

/*
 * Adds a frame to the dictionary. Its fields must be those of frame_key(). The lowest bit of kind
 * is set for an inlined frame; the bits above are enum frame_kind.
 */
static int make_frame(struct interner *w, const struct profile_location *l, uint32_t i,
		      uint32_t *out)
{
	struct stack_dict_frame f = { .kind = (uint32_t)l->kind << 1 |
					      profile_frame_inlined(l, i) };
	int r;

	w->name.len = 0;
	profile_put_frame_name(w->p, l, i, &w->name);
	if (buf_error(&w->name))
		return -ENOMEM;
	r = stack_dict_add_string(w->s, (const char *)w->name.data, w->name.len, &f.name);
	if (r == 0 && l->mapping != PROFILE_NONE)
		r = add_string(w, profile_mapping(w->p, l->mapping)->file, &f.binary);
	if (r == 0 && i < l->n_lines) {
		const struct profile_function *fn = profile_function(w->p, l->lines[i].function);

		f.line = fn->start_line;
		r = add_string(w, fn->file, &f.file);
	}
	return r < 0 ? r : stack_dict_add_frame(w->s, &f, out);
}

static int add_frame(struct interner *w, const struct profile_location *l, uint32_t i,
		     struct id_cache_key key, uint32_t *out)
{
	int r;

	if (id_cache_find(&w->in->frames, key, out))
		return 0;
	r = make_frame(w, l, i, out);
	if (r == 0)
		id_cache_add(&w->in->frames, key, *out);
	return r;
}

/* Adds the frames of a location below *@node, outermost first, and moves *@node to the last one. */
static int add_location(struct interner *w, uint32_t id, uint32_t *node)
{
	struct profile_location l = profile_location(w->p, id);
	const struct id_cache_key *keys = w->keys->frames + w->keys->first[id];
	uint32_t frame = 0;
	int r = 0;

	for (uint32_t i = profile_location_n_frames(&l); r == 0 && i-- > 0;) {
		r = add_frame(w, &l, i, keys[i], &frame);
		if (r == 0)
			r = stack_dict_add_node(w->s, *node, frame, node);
	}
	return r;
}

/*
 * Profiles store stacks leaf first, trees grow from the root, so locations are added from the last
 * to the first.
 */
static int intern_stack(struct interner *w, uint32_t stack, uint32_t *out_node)
{
	struct id_cache_key key = w->keys->stacks[stack];
	const uint32_t *ids;
	size_t depth;
	int r = 0;

	if (id_cache_find(&w->in->stacks, key, out_node))
		return 0;
	*out_node = 0;
	ids = profile_stack(w->p, stack, &depth);
	while (r == 0 && depth-- > 0)
		r = add_location(w, ids[depth], out_node);
	if (r == 0)
		id_cache_add(&w->in->stacks, key, *out_node);
	return r;
}

int intern_stacks(struct intern *in, struct stack_dict *s, const struct profile *p,
		  const struct intern_keys *keys, uint32_t *out_nodes)
{
	_cleanup_(interner_fini) struct interner w = { .in = in, .s = s, .p = p, .keys = keys };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_stacks(p); i++)
		r = intern_stack(&w, i, &out_nodes[i]);
	return r;
}
