/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a function from its SharedFunctionInfo, which leads to its name, its position in a
 * script and its byte code. A compiled function has a ScopeInfo with a variable number of slots
 * that depends on its flags: the names of its variables, then its own name, the name that the
 * parser inferred for it, and its start and end (which are before the names from V8 13 on). See
 * V8's objects/scope-info.tq.
 */
#include <errno.h>

#include "lang/v8/heap.h"

enum {
	SCOPE_TYPE_MASK = 0xf,
	SCOPE_RECEIVER_SHIFT = 7,
	SCOPE_CLASS_VARIABLE = 1 << 10,
	SCOPE_INFO_MASK = 3,
	/* values of VariableAllocationInfo */
	ALLOCATED_NONE = 0,
	ALLOCATED_UNUSED = 3,
	LOCALS_MAX = 1 << 20,
	LOCALS_INLINE_MAX = 75, /* from this number on, the names are in a separate table */
	PARTS_MAX = 2,          /* limit of objects between a function and its byte code */
};

static uint64_t slot_at(const struct v8_heap *h, uint64_t scope, uint32_t slot)
{
	return scope + h->shape.scope_slots + slot * 8ULL;
}

static int get_flags(const struct v8_heap *h, uint64_t scope, uint32_t *out)
{
	uint64_t at = slot_at(h, scope, 0);
	int32_t smi;
	int r;

	if (h->shape.scope_flags_u32)
		return v8_get(h, at, out, sizeof(*out));
	r = v8_get_smi(h, at, &smi);
	*out = (uint32_t)smi;
	return r;
}

/* Advances @slot from the first one to the function's name. */
static int skip_variables(const struct v8_heap *h, uint64_t scope, uint32_t flags, uint32_t *slot)
{
	const struct v8_shape *s = &h->shape;
	uint32_t receiver = flags >> SCOPE_RECEIVER_SHIFT & SCOPE_INFO_MASK;
	int32_t n;
	int r = v8_get_smi(h, slot_at(h, scope, 2), &n);

	if (r < 0)
		return r;
	if (n < 0 || n > LOCALS_MAX)
		return -EBADMSG;
	if (s->scope_module_first && (flags & SCOPE_TYPE_MASK) == s->scope_module)
		++*slot;
	*slot += (s->scope_table && n >= LOCALS_INLINE_MAX ? 1 : (uint32_t)n) + (uint32_t)n;
	if (s->scope_class_flag && flags & SCOPE_CLASS_VARIABLE)
		++*slot;
	if (s->scope_receiver && receiver != ALLOCATED_NONE && receiver != ALLOCATED_UNUSED)
		++*slot;
	return 0;
}

/* Returns the string in a slot, or 0 if it has something else. */
static uint64_t get_name(const struct v8_heap *h, uint64_t at)
{
	uint64_t name;

	return v8_get_object(h, at, &name) == 0 && v8_is_string(h, name) ? name : 0;
}

static void get_place(const struct v8_heap *h, uint64_t at, struct v8_function *out)
{
	out->positioned = v8_get_smi(h, at, &out->start) == 0 &&
			  v8_get_smi(h, at + 8, &out->end) == 0 && out->start >= 0 &&
			  out->end >= out->start;
}

static int get_scope(const struct v8_heap *h, uint64_t scope, struct v8_function *out)
{
	const struct v8_shape *s = &h->shape;
	uint32_t flags, slot = s->scope_first, info;
	int r = get_flags(h, scope, &flags);

	if (r == 0)
		r = skip_variables(h, scope, flags, &slot);
	if (r < 0)
		return r;
	info = flags >> s->scope_function_shift;
	if ((info & SCOPE_INFO_MASK) != ALLOCATED_NONE) {
		out->name = get_name(h, slot_at(h, scope, slot));
		slot += 2;
	}
	if (info >> 2 & 1)
		out->inferred = get_name(h, slot_at(h, scope, slot++));
	if (s->scope_positions_first)
		get_place(h, slot_at(h, scope, 3), out);
	else if (s->scope_positioned >> (flags & SCOPE_TYPE_MASK) & 1)
		get_place(h, slot_at(h, scope, slot), out);
	return 0;
}

int v8_get_function(const struct v8_heap *h, uint64_t shared, struct v8_function *out)
{
	const struct v8_fields *f = &h->vm->f;
	uint64_t name, script;
	int type;

	*out = (struct v8_function){ 0 };
	/* A small integer here means that the function has no name. */
	if (v8_get_object(h, shared + (uint64_t)f->shared_name, &name) == 0) {
		type = v8_type(h, name);
		if (type == f->type_scope_info)
			(void)get_scope(h, name, out); /* An incomplete result is used as well. */
		else if (type >= 0 && type < f->type_first_nonstring)
			out->name = name;
		else
			return -EBADMSG;
	}
	if (v8_get_object(h, shared + (uint64_t)f->shared_script, &script) == 0 &&
	    v8_type(h, script) == f->type_script)
		out->script = script;
	return 0;
}

int v8_get_cookie(const struct v8_heap *h, uint64_t shared, uint32_t *out)
{
	uint64_t word;
	int r = v8_get(h, shared + (uint64_t)h->vm->f.shared_name, &word, sizeof(word));

	*out = lang_cookie(word);
	return r;
}

/* ---- byte code --------------------------------------------------------------------- */

/* Follows one reference from @part, an object of @type, towards the byte code. */
static int next_part(const struct v8_heap *h, uint64_t part, int type, uint64_t *out)
{
	/*
	 * Code has the reference in a field of its own. An object that combines code and byte
	 * code may have either of them first.
	 */
	uint64_t at = part + (type == h->vm->f.type_code ? h->shape.code_deopt : 8);
	int r = v8_get_object(h, at, out);

	if (r == 0 && type != h->vm->f.type_code && v8_type(h, *out) == h->vm->f.type_code)
		r = v8_get_object(h, at + 8, out);
	return r;
}

int v8_get_bytecode(const struct v8_heap *h, uint64_t shared, uint64_t *out)
{
	uint64_t part;
	int r = v8_get_object(h, shared + (uint64_t)h->vm->f.shared_data, &part);

	for (int i = 0; r == 0; i++) {
		int type = v8_type(h, part);

		if (type == h->vm->f.type_bytecode) {
			*out = part;
			return 0;
		}
		r = type < 0 || i > PARTS_MAX ? -EBADMSG : next_part(h, part, type, &part);
	}
	return r;
}
