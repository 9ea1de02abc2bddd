/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads objects of V8's heap from a process, and knows how they differ between versions. A
 * pointer has its lowest bit set, and the second lowest as well if it is weak. A small integer
 * (Smi) is in the upper half of its word. Heaps with compressed pointers are not supported.
 */
#include "lang/v8/heap.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TAG_MASK = 3,
	TAG_STRONG = 1,
	TAG_WEAK = 3,
	ARRAY_LENGTH = 8,
	ARRAY_ELEMENTS = 16,
	ARRAY_MAX = 1 << 24,
	BYTES_MAX = 1 << 20, /* limit for one byte array */
	SMI_SHIFT = 32,
	POSITION_TABLE = 8,
};

/* ---- versions ------------------------------------------------------------------ */

enum {
	/* scope types up to version 12 */
	OLD_CLASS = 0,
	OLD_EVAL = 1,
	OLD_FUNCTION = 2,
	OLD_MODULE = 3,
	OLD_SCRIPT = 4,
	OLD_REALM = 8,
	/* scope types from version 13 on */
	NEW_CLASS = 2,
	NEW_MODULE = 5,
};

static void shape_scope(const struct v8_vm *vm, uint32_t version, struct v8_shape *s)
{
	bool renumbered = version >= 1300;

	/* ScopeInfo was a FixedArray first; later its flags are not an element any more. */
	s->scope_slots = version >= 900 ? 8 : 16;
	s->scope_positions_first = vm->f.scope_first_vars == 5;
	s->scope_flags_u32 = s->scope_positions_first;
	s->scope_first = s->scope_positions_first ? 5 : 3;
	s->scope_class_flag = version >= 800;
	s->scope_function_shift = s->scope_class_flag ? 12 : 11;
	s->scope_receiver = version < 1000;
	s->scope_table = version >= 1000;
	s->scope_module_first = version >= 1200;
	s->scope_module = renumbered ? NEW_MODULE : OLD_MODULE;
	s->scope_class = renumbered ? NEW_CLASS : OLD_CLASS;
	s->scope_positioned = 1 << OLD_EVAL | 1 << OLD_FUNCTION | 1 << OLD_MODULE | 1 << OLD_SCRIPT;
	if (version >= 1000)
		s->scope_positioned |= 1 << OLD_CLASS | 1 << OLD_REALM;
}

/* Sets the layout of Code that contains its instructions. */
static void shape_code(uint32_t version, struct v8_shape *s)
{
	s->instructions = version >= 1000 ? 128 : version >= 800 ? 96 : 64;
	s->code_size = 40;
	s->code_flags = version >= 900 ? 48 : 44;
	s->kind_shift = version >= 900 ? 0 : 1;
	s->kind_mask = version >= 806 ? 0xf : 0x1f;
	s->kind_baseline = 11;
	s->kind_top = 13;
	s->code_deopt = 16;
	s->code_positions = 24;
	s->bytecode_positions = 32;
}

/* Sets the layout of Code whose instructions are in an InstructionStream. */
static void shape_split_code(uint32_t version, struct v8_shape *s)
{
	s->split = true;
	s->code_stream = 32;
	s->kind_mask = 0xf;
	if (version < 1108) {
		s->instructions = 16;
		s->code_flags = 48;
		s->code_size = 56;
		s->code_deopt = 16;
		s->code_positions = 24;
		s->kind_baseline = 11;
		s->bytecode_positions = 32;
	} else if (version < 1200) {
		s->instructions = 32;
		s->code_stream = 24;
		s->code_flags = 40;
		s->code_size = 44;
		s->code_deopt = 8;
		s->code_positions = 16;
		s->kind_baseline = 11;
		s->bytecode_positions = 32;
	} else {
		s->instructions = 32;
		s->code_flags = version >= 1300 ? 52 : 48;
		s->code_size = (uint16_t)(s->code_flags + 4);
		s->code_deopt = 8;
		s->code_positions = 16;
		s->kind_baseline = version >= 1402 ? 11 : 10;
		s->bytecode_positions = 24;
	}
	s->kind_top = (uint8_t)(s->kind_baseline + 2);
}

/* Returns the exported index, or @fallback for versions that do not export it. */
static uint8_t index_or(int32_t exported, uint8_t fallback)
{
	return exported > 0 && exported < UINT8_MAX ? (uint8_t)exported : fallback;
}

static void shape_deopt(const struct v8_vm *vm, uint32_t version, struct v8_shape *s)
{
	uint8_t shift = version >= 1300;

	s->deopt_literals = index_or(vm->f.deopt_literals, 2 + shift);
	s->deopt_shared = index_or(vm->f.deopt_shared, 6 + shift);
	s->deopt_inlined = index_or(vm->f.deopt_positions, 7 + shift);
}

int v8_heap_init(struct v8_heap *h, const struct v8_vm *vm, uint32_t index,
		 const struct lang_process *p)
{
	uint32_t version = vm->major * 100u + vm->minor;

	*h = (struct v8_heap){ .vm = vm, .vm_index = index, .p = p };
	if (version < 700)
		return -ENOENT;
	shape_scope(vm, version, &h->shape);
	shape_deopt(vm, version, &h->shape);
	h->shape.shared_builtin = vm->f.shared_name > 16 ? 16 : 8;
	h->shape.positions = version < 804    ? V8_POSITIONS_FROM_START
			     : version < 1401 ? V8_POSITIONS_FROM_ENTRY
					      : V8_POSITIONS_FLAGGED;
	h->shape.kind_regexp = version < 900 ? 4 : version < 1402 ? 3 : 4;
	if (version < 1100) {
		shape_code(version, &h->shape);
		/* Without baseline code no kind may match it; see v8_is_optimized(). */
		if (version < 900)
			h->shape.kind_baseline = h->shape.kind_top = h->shape.kind_mask;
	} else {
		shape_split_code(version, &h->shape);
	}
	if (vm->f.code_start > 0)
		h->shape.instructions = (uint16_t)vm->f.code_start;
	return 0;
}

/* ---- reading ------------------------------------------------------------------- */

int v8_get(const struct v8_heap *h, uint64_t at, void *dst, size_t len)
{
	return h->p->read(h->p->ctx, at, dst, len) ? -EFAULT : 0;
}

int v8_get_object(const struct v8_heap *h, uint64_t at, uint64_t *out)
{
	uint64_t word;
	int r = v8_get(h, at, &word, sizeof(word));

	if (r < 0)
		return r;
	if ((word & TAG_MASK) != TAG_STRONG && (word & TAG_MASK) != TAG_WEAK)
		return -EBADMSG;
	word &= ~(uint64_t)TAG_MASK;
	if (!word) /* a cleared weak reference */
		return -EBADMSG;
	*out = word;
	return 0;
}

int v8_get_smi(const struct v8_heap *h, uint64_t at, int32_t *out)
{
	uint64_t word;
	int r = v8_get(h, at, &word, sizeof(word));

	if (r < 0)
		return r;
	if ((uint32_t)word)
		return -EBADMSG;
	*out = (int32_t)(word >> SMI_SHIFT);
	return 0;
}

int v8_type(const struct v8_heap *h, uint64_t object)
{
	uint64_t map;
	uint16_t type = 0;
	int r = v8_get_object(h, object + (uint64_t)h->vm->f.object_map, &map);

	if (r == 0)
		r = v8_get(h, map + (uint64_t)h->vm->f.map_type, &type, sizeof(type));
	return r < 0 ? r : type;
}

int v8_get_array(const struct v8_heap *h, uint64_t object, struct v8_array *out)
{
	int32_t n;
	int r = v8_get_smi(h, object + ARRAY_LENGTH, &n);

	if (r < 0)
		return r;
	if (n < 0 || n > ARRAY_MAX)
		return -EBADMSG;
	*out = (struct v8_array){ object + ARRAY_ELEMENTS, (uint32_t)n };
	return 0;
}

int v8_get_bytes(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len)
{
	struct v8_array array;
	uint64_t object;
	uint8_t *bytes;
	int r = v8_get_object(h, at, &object);

	if (r == 0)
		r = v8_get_array(h, object, &array);
	if (r == 0 && array.n > BYTES_MAX)
		r = -EBADMSG;
	if (r < 0)
		return r;
	bytes = malloc(array.n + 1);
	if (!bytes)
		return -ENOMEM;
	r = v8_get(h, array.at, bytes, array.n);
	if (r < 0) {
		free(bytes);
		return r;
	}
	*out = bytes;
	*out_len = array.n;
	return 0;
}

int v8_get_positions(const struct v8_heap *h, uint64_t at, uint8_t **out, size_t *out_len)
{
	uint64_t holder;
	int r = v8_get_bytes(h, at, out, out_len);

	/*
	 * Up to version 8 the field may have an object with the table and a cache of stack
	 * frames.
	 */
	if (r == -EBADMSG && h->vm->major < 9 && v8_get_object(h, at, &holder) == 0)
		r = v8_get_bytes(h, holder + POSITION_TABLE, out, out_len);
	return r;
}
