/* SPDX-License-Identifier: Apache-2.0 */
#include "v8_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_WIDE = 0, /* two-byte sequential string; the other types follow the tags */
	TYPE_CONS = 9,
	TYPE_SHARED = 262,
	TYPE_SCRIPT = 167,
	TYPE_ARRAY = 175,
	TYPE_STREAM = 252,
	MAP_BYTES = 24,
	KIND_MAGLEV = 12,
	KIND_TURBOFAN = 13,
	/* first elements of the deoptimization data */
	DEOPT_FRAMES = 0,
	DEOPT_LITERALS = 2,
	DEOPT_SHARED = 6,
	DEOPT_INLINED = 7,
	DEOPT_HEAD = 9,
	/* function scope with a name and an inferred name */
	SCOPE_FLAGS = 2 | 3 << 12 | 1 << 14,
	N_BUILTINS = 64,
	ROW_BYTES = 12,
};

static uint64_t tagged(uint64_t object)
{
	return object ? object | 1 : 0;
}

static uint64_t smi(int32_t v)
{
	return (uint64_t)(uint32_t)v << 32;
}

static uint64_t map_of(struct v8_memory *v, uint16_t type)
{
	uint16_t *at;

	if (!v->maps[type]) {
		v->maps[type] = memory_add(&v->m, NULL, MAP_BYTES);
		at = memory_at(&v->m, v->maps[type] + 12);
		*at = type;
	}
	return v->maps[type];
}

uint64_t v8_memory_object(struct v8_memory *v, uint16_t type, size_t bytes)
{
	uint64_t map = map_of(v, type), at = memory_add(&v->m, NULL, bytes);

	memory_put(&v->m, at, tagged(map));
	return at;
}

static void put_u32(struct v8_memory *v, uint64_t at, uint32_t n)
{
	memcpy(memory_at(&v->m, at), &n, sizeof(n));
}

void v8_memory_heap(struct v8_memory *v, struct v8_heap *h)
{
	int r = v8_heap_init(h, &v->v8[1], 1, &v->m.process);

	assert(r == 0);
}

void v8_memory_put_object(struct v8_memory *v, uint64_t at, uint64_t object)
{
	memory_put(&v->m, at, tagged(object));
}

void v8_memory_put_smi(struct v8_memory *v, uint64_t at, int32_t n)
{
	memory_put(&v->m, at, smi(n));
}

/* ---- objects ------------------------------------------------------------------- */

uint64_t v8_memory_string(struct v8_memory *v, const char *text)
{
	size_t n = strlen(text);
	uint64_t at = v8_memory_object(v, V8_STRING, 16 + n);

	put_u32(v, at + 12, (uint32_t)n);
	memcpy(memory_at(&v->m, at + 16), text, n);
	return at;
}

uint64_t v8_memory_wide_string(struct v8_memory *v, const uint16_t *text, size_t n)
{
	uint64_t at = v8_memory_object(v, TYPE_WIDE, 16 + 2 * n);

	put_u32(v, at + 12, (uint32_t)n);
	memcpy(memory_at(&v->m, at + 16), text, 2 * n);
	return at;
}

uint64_t v8_memory_cons(struct v8_memory *v, uint64_t first, uint64_t second, uint32_t n)
{
	uint64_t at = v8_memory_object(v, TYPE_CONS, 32);

	put_u32(v, at + 12, n);
	memory_put(&v->m, at + 16, tagged(first));
	memory_put(&v->m, at + 24, tagged(second));
	return at;
}

uint64_t v8_memory_bytes(struct v8_memory *v, const void *data, size_t n)
{
	uint64_t at = v8_memory_object(v, V8_BYTES, 16 + n);

	memory_put(&v->m, at + 8, smi((int32_t)n));
	if (n)
		memcpy(memory_at(&v->m, at + 16), data, n);
	return at;
}

static uint64_t array(struct v8_memory *v, const uint64_t *words, size_t n)
{
	uint64_t at = v8_memory_object(v, TYPE_ARRAY, 16 + 8 * n);

	memory_put(&v->m, at + 8, smi((int32_t)n));
	memcpy(memory_at(&v->m, at + 16), words, 8 * n);
	return at;
}

uint64_t v8_memory_function(struct v8_memory *v, uint64_t name, uint64_t inferred, int32_t start,
			    int32_t end)
{
	uint64_t scope = v8_memory_object(v, V8_SCOPE, 10 * 8),
		 at = v8_memory_object(v, TYPE_SHARED, 64);
	const uint64_t slots[] = { smi(SCOPE_FLAGS), smi(0),           smi(0),     tagged(name),
				   smi(0),           tagged(inferred), smi(start), smi(end) };

	memcpy(memory_at(&v->m, scope + 8), slots, sizeof(slots));
	memory_put(&v->m, at + 8, smi(5)); /* no byte code yet */
	memory_put(&v->m, at + 16, tagged(scope));
	memory_put(&v->m, at + 32, tagged(v->script));
	return at;
}

/* Adds byte code with a statement at offset 0 and an expression at 4. */
static void put_bytecode(struct v8_memory *v, uint64_t shared, uint8_t first, uint8_t second)
{
	/* Offsets 0 (from -1) and ~4. A position is encoded as (position + 1) << 1, and signed. */
	uint32_t from = (first + 1u) * 4, more = (second - first) * 4u;
	const uint8_t table[] = { 2, (uint8_t)(from % 128 + 128), (uint8_t)(from / 128), 9,
				  (uint8_t)more };
	static const uint8_t code[] = { 0x0b, 0x02, 0xc3, 0x00, 0x0c, 0x0d, 0x0e, 0xaa };
	uint64_t at = v8_memory_object(v, V8_BYTECODES, 64 + sizeof(code));

	memory_put(&v->m, at + 8, smi(sizeof(code)));
	memcpy(memory_at(&v->m, at + 54), code, sizeof(code));
	memory_put(&v->m, at + 32, tagged(v8_memory_bytes(v, table, sizeof(table))));
	memory_put(&v->m, shared + 8, tagged(at));
}

/* ---- code -------------------------------------------------------------------------- */

/*
 * Encodes a call in the inlined function before V8_CODE_PLACE, and one in the outer function
 * after it.
 */
static uint64_t code_positions(struct v8_memory *v)
{
	/* inlining 0 and a position: (id + 1) << 31 | (position + 1) << 1 */
	uint64_t inlined = 1ULL << 31 | (V8_INNER_CALL + 1) << 1, outer = (V8_OUTER_CALL + 1) << 1;
	/* The first code offset is relative to -1. */
	const uint64_t numbers[] = { 2 * (V8_CODE_PLACE - 8 + 1), inlined * 2, 2 * 16,
				     (outer - inlined) << 1 ^
					     (uint64_t)((int64_t)(outer - inlined) >> 63) };
	uint8_t table[40];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (uint64_t left = numbers[i], more = 1; more; left >>= 7) {
			more = left >= 128;
			table[n++] = (uint8_t)(left % 128 + (more ? 128 : 0));
		}
	return v8_memory_bytes(v, table, n);
}

void v8_memory_put_deopt(struct v8_memory *v, const struct v8_memory_deopt *d)
{
	const uint64_t literals[] = { tagged(v->inner), tagged(v->outer) };
	uint64_t words[DEOPT_HEAD + 3 * V8_ENTRIES_MAX] = {
		[DEOPT_LITERALS] = tagged(array(v, literals, 2)),
		[DEOPT_SHARED] = tagged(v->outer),
		[DEOPT_INLINED] = tagged(
			v8_memory_bytes(v, d->inlined, d->n_inlined * sizeof(d->inlined[0]))),
	};
	size_t n = DEOPT_HEAD;

	assert(d->n_entries <= V8_ENTRIES_MAX);
	v->frames = v8_memory_bytes(v, d->frames, d->frames_len);
	words[DEOPT_FRAMES] = tagged(v->frames);
	for (size_t i = 0; i < d->n_entries; i++) {
		words[n++] = smi(d->entries[i].place);
		words[n++] = smi(d->entries[i].begin);
		words[n++] = smi(d->entries[i].pc);
	}
	memory_put(&v->m, v->code + 16, tagged(array(v, words, n)));
	put_u32(v, v->code + 48, d->is_maglev ? KIND_MAGLEV : KIND_TURBOFAN);
}

static void add_code(struct v8_memory *v)
{
	const struct v8_inlining inlined = { (V8_OUTER_CALL + 1) << 1, V8_INNER_LITERAL, 0 };
	const struct v8_memory_deopt deopt = { .inlined = &inlined, .n_inlined = 1 };
	uint64_t stream = V8_CODE_AT - 16, positions = code_positions(v);

	v->code = v8_memory_object(v, V8_CODES, 80);
	v8_memory_put_deopt(v, &deopt);
	memory_put(&v->m, v->code + 24, tagged(positions));
	memory_put(&v->m, v->code + 32, tagged(stream));
	memory_put(&v->m, v->code + 40, V8_CODE_AT);
	put_u32(v, v->code + 56, V8_CODE_BYTES);
	memory_put(&v->m, stream, tagged(map_of(v, TYPE_STREAM)));
	memory_put(&v->m, stream + 8, tagged(v->code));
}

/* ---- the file ------------------------------------------------------------------------ */

static void set_fields(struct v8_fields *f)
{
	memset(f, 0xff, sizeof(*f));
	f->object_map = 0;
	f->map_type = 12;
	f->shared_data = 8;
	f->shared_name = 16;
	f->shared_script = 32;
	f->bytecode_data = 54;
	f->script_source = 8;
	f->script_name = 16;
	f->script_line_ends = 56;
	f->string_length = 12;
	f->string_one_byte = f->string_two_byte = 16;
	f->string_first = f->string_actual = f->string_parent = f->string_resource = 16;
	f->string_second = f->string_parent_offset = 24;
	f->type_first_nonstring = 128;
	f->type_shared = TYPE_SHARED;
	f->type_script = TYPE_SCRIPT;
	f->type_scope_info = V8_SCOPE;
	f->type_bytecode = V8_BYTECODES;
	f->type_code = V8_CODES;
	f->type_stream = TYPE_STREAM;
	f->string_representation_mask = 7;
	f->string_encoding_mask = f->string_encoding_one_byte = 8;
	f->string_seq = 0;
	f->string_cons = 1;
	f->string_external = 2;
	f->string_sliced = 3;
	f->string_thin = 5;
	f->scope_first_vars = 3;
}

/* Adds builtins of 32 bytes each, of which the second and the third have names. */
static void add_builtins(struct v8_memory *v, struct v8_vm *vm)
{
	uint64_t data = memory_add(&v->m, NULL, 24 + N_BUILTINS * ROW_BYTES);
	uint64_t names = memory_add(&v->m, NULL, N_BUILTINS * 24);

	for (uint32_t i = 0; i < N_BUILTINS; i++) {
		put_u32(v, data + 24 + i * ROW_BYTES, i * 32);
		put_u32(v, data + 24 + i * ROW_BYTES + 4, 24);
	}
	memory_put(&v->m, names + 24, memory_add(&v->m, "ArrayMap", 9));
	memory_put(&v->m, names + 48, memory_add(&v->m, "AddHandler", 11));
	vm->blob_lo = V8_BLOB_OFF;
	vm->blob_hi = V8_BLOB_OFF + N_BUILTINS * 32;
	vm->blob_data = data;
	vm->blob_data_bytes = 24 + N_BUILTINS * ROW_BYTES;
	vm->blob_code_bytes = N_BUILTINS * 32;
	vm->builtin_names = names;
}

static void add_script(struct v8_memory *v)
{
	v->script = v8_memory_object(v, TYPE_SCRIPT, 128);
	memory_put(&v->m, v->script + 8,
		   tagged(v8_memory_string(v, "/* a comment */\n\nfunc outer() {\r\n  call();\n"
					      "}\nfunc   inner() {\n  more();\n}\n")));
	memory_put(&v->m, v->script + 16, tagged(v8_memory_string(v, "file:///srv/app.js")));
}

void v8_memory_init(struct v8_memory *v)
{
	memset(v, 0, sizeof(*v));
	memory_init(&v->m, 11);
	v->m.tables.v8 = v->v8;
	v->m.codes[1].lang = LANG_V8;
	v->v8[1].major = 11;
	v->v8[1].minor = 3;
	set_fields(&v->v8[1].f);
	memory_add(&v->m, NULL, 8); /* No object is at the start of the memory. */
	add_script(v);
	v->outer = v8_memory_function(v, v8_memory_string(v, "outer"), 0, V8_OUTER_START, 44);
	v->inner = v8_memory_function(v, v8_memory_string(v, "inner"), 0, V8_INNER_START, 73);
	put_bytecode(v, v->outer, V8_OUTER_START, V8_OUTER_CALL);
	put_bytecode(v, v->inner, V8_INNER_START, V8_INNER_CALL);
	add_builtins(v, &v->v8[1]);
	add_code(v);
}

void v8_memory_seal(struct v8_memory *v)
{
	assert(MEMORY_AT + v->m.len < V8_CODE_AT - 4096);
	v->m.len = MEMORY_BYTES;
}

/* ---- frames -------------------------------------------------------------------------- */

uint32_t v8_memory_cookie(struct v8_memory *v, uint64_t shared)
{
	uint64_t word;

	memcpy(&word, memory_at(&v->m, shared + 16), sizeof(word));
	return lang_cookie(word);
}

void v8_memory_bytecode_frame(struct v8_memory *v, uint64_t shared, uint32_t offset,
			      uint64_t words[2])
{
	words[0] = VM_FRAME_WORD(V8_BYTECODE, 1, shared);
	words[1] = VM_PLACE_WORD(offset, v8_memory_cookie(v, shared));
}

void v8_memory_code_frame(struct v8_memory *v, uint32_t offset, bool leaf, uint64_t words[2])
{
	uint32_t cookie = v8_memory_cookie(v, v->outer);

	words[0] = VM_FRAME_WORD(V8_CODE, 1, V8_CODE_AT + offset);
	words[1] = V8_CODE_WORD(v->outer, leaf, cookie);
}

int v8_memory_setup(void **state)
{
	struct v8_memory *v = malloc(sizeof(*v));

	if (!v)
		return -1;
	v8_memory_init(v);
	*state = v;
	return 0;
}

int v8_memory_teardown(void **state)
{
	free(*state);
	return 0;
}
