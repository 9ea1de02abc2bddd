/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expands a sampled frame to the functions that ran there, each with its position in its
 * script. An interpreter frame has an offset in byte code, which the function's source position
 * table translates. Baseline code has a table that leads from the pc to that offset. Optimized
 * code has a source position table of its own, whose positions include the number of an
 * inlining: the inlined function and the position of its call, which may again be in an inlined
 * function.
 *
 * The table of optimized code has entries for calls only, so a pc between two calls is reported
 * at the last one.
 */
#include <errno.h>
#include <stdlib.h>

#include "lang/v8/reader.h"

enum {
	BYTECODE_DATA = 54, /* used if no symbol has the offset */
	BYTECODE_MAX = 1 << 20,
	COLLECTOR_COOKIE = 2, /* all other code without an address has 1 */
};

struct frame {
	struct v8_heap h;
	uint64_t pc, shared; /* shared is 0 if unknown */
	bool leaf;
	struct lang_call *out;
};

/* Looks up an offset in the source position table that the field at @at refers to. */
static int get_position(const struct v8_heap *h, uint64_t at, uint32_t offset, int64_t *out)
{
	uint8_t *table;
	size_t len;
	int r = v8_get_positions(h, at, &table, &len);

	if (r < 0)
		return r;
	r = v8_position_at(h->shape.positions, table, len, offset, out) &&
			    !V8_SOURCE_IS_EXTERNAL(*out)
		    ? 0
		    : -ENOENT;
	free(table);
	return r;
}

static uint32_t place_of(int64_t position)
{
	int32_t offset = V8_SOURCE_OFFSET(position);

	return offset >= 0 ? (uint32_t)offset : V8_POSITION_NONE;
}

/* ---- unoptimized code ------------------------------------------------------------ */

/* Returns the source position of @offset in a function's byte code. */
static uint32_t bytecode_place(const struct v8_heap *h, uint64_t shared, uint32_t offset)
{
	uint64_t bytecode;
	int64_t position;

	if (v8_get_bytecode(h, shared, &bytecode) < 0 ||
	    get_position(h, bytecode + h->shape.bytecode_positions, offset, &position) < 0)
		return V8_POSITION_NONE;
	return place_of(position);
}

/* Computes the offset of the byte code with number @index. */
static int get_bytecode_offset(const struct v8_heap *h, uint64_t bytecode, uint32_t index,
			       uint32_t *out)
{
	/* A bias of 0 is valid for a file mapped at its link address; for others the read fails. */
	uint64_t bias = h->p->bias ? h->p->bias(h->p->ctx, h->vm_index) : 0;
	uint32_t n = h->vm->bytecode_sizes_bytes / V8_SCALES;
	uint64_t data =
		h->vm->f.bytecode_data > 0 ? (uint64_t)h->vm->f.bytecode_data : BYTECODE_DATA;
	uint8_t sizes[256 * V8_SCALES], *code;
	struct v8_array array;
	int r = v8_get_array(h, bytecode, &array);

	if (r < 0 || !n || n > 256 || array.n > BYTECODE_MAX)
		return -ENOENT;
	r = v8_get(h, h->vm->bytecode_sizes + bias, sizes, (size_t)n * V8_SCALES);
	if (r < 0)
		return r;
	code = malloc(array.n + 1);
	if (!code)
		return -ENOMEM;
	r = v8_get(h, bytecode + data, code, array.n);
	if (r == 0)
		r = v8_bytecode_at(code, array.n, sizes, n, index, out) ? 0 : -ENOENT;
	free(code);
	return r;
}

static int put_call(const struct frame *f, uint64_t shared, uint32_t place, int n)
{
	uint32_t cookie;

	if (v8_type(&f->h, shared) != f->h.vm->f.type_shared ||
	    v8_get_cookie(&f->h, shared, &cookie) < 0)
		return -ESTALE;
	f->out[n] = (struct lang_call){ .addr = shared, .cookie = cookie, .place = place };
	return 0;
}

static int expand_baseline(struct frame *f, const struct v8_code *c)
{
	uint32_t pc = (uint32_t)(f->pc - c->start) + f->leaf, place = V8_POSITION_NONE;
	uint32_t index, offset;
	uint64_t bytecode;
	uint8_t *table;
	size_t len;

	if (!f->shared)
		return -ENOENT;
	if (v8_get_bytecode(&f->h, f->shared, &bytecode) == 0 &&
	    v8_get_bytes(&f->h, c->object + f->h.shape.code_positions, &table, &len) == 0) {
		if (v8_baseline_index(table, len, pc, &index) &&
		    get_bytecode_offset(&f->h, bytecode, index, &offset) == 0)
			place = bytecode_place(&f->h, f->shared, offset);
		free(table);
	}
	return put_call(f, f->shared, place, 0) < 0 ? -ESTALE : 1;
}

/* ---- optimized code --------------------------------------------------------------- */

/* Writes the functions at @position, innermost first. Returns their number or -ESTALE. */
static int put_inlined(const struct frame *f, const struct v8_deopt *d, int64_t position)
{
	struct v8_inlining inlining;
	uint64_t shared;
	int n = 0;

	while (V8_SOURCE_INLINING(position) >= 0 && n < LANG_CALLS_MAX - 1) {
		if (v8_get_inlining(&f->h, d, V8_SOURCE_INLINING(position), &inlining) < 0)
			return -ESTALE;
		/* An inlined builtin has no literal. */
		if (inlining.function >= 0) {
			if (v8_get_element(&f->h, &d->literals, inlining.function, &shared) < 0 ||
			    put_call(f, shared, place_of(position), n) < 0)
				return -ESTALE;
			n++;
		}
		/* A caller's number must be smaller, so this loop ends. */
		if (V8_SOURCE_INLINING(inlining.position) >= V8_SOURCE_INLINING(position))
			return -ESTALE;
		position = inlining.position;
	}
	return put_call(f, d->shared, place_of(position), n) < 0 ? -ESTALE : n + 1;
}

static int expand_optimized(struct frame *f, const struct v8_code *c)
{
	/* A return address belongs to the call instruction before it. */
	uint32_t pc = (uint32_t)(f->pc - c->start) - !f->leaf;
	struct v8_deopt d = { 0 };
	int64_t position;
	int r = v8_get_deopt(&f->h, c, &d);

	if (r < 0 || (f->shared && d.shared != f->shared))
		return -ESTALE;
	f->shared = d.shared;
	if (get_position(&f->h, c->object + f->h.shape.code_positions, pc, &position) < 0) {
		position = V8_SOURCE(-1, -1);
		v8_correct_call(&f->h, &d, pc + !f->leaf, f->leaf, &position);
	} else if (!f->leaf) {
		v8_correct_call(&f->h, &d, pc + 1, false, &position);
	}
	return put_inlined(f, &d, position);
}

/* Reports generated code by the address of its first instruction. */
static int put_stub(const struct frame *f, uint64_t pc, uint32_t type)
{
	struct v8_code code;
	uint64_t at = pc;

	/* The code of WebAssembly is not in V8's heap. */
	if (type == (uint32_t)f->h.vm->f.frame_wasm)
		at = 0;
	else if (v8_find_code(&f->h, pc, &code) == 0)
		at = code.start;
	f->out[0] = (struct lang_call){
		.addr = (at & ~3ULL) | V8_IS_CODE,
		.cookie = 1,
		.place = type,
	};
	return 1;
}

/* ---- frames ------------------------------------------------------------------------ */

static int expand_code(struct frame *f, const uint64_t words[2])
{
	uint32_t bits = V8_CODE_COOKIE(words[1]), cookie;
	struct v8_code code;
	int r;

	f->pc = VM_FRAME_ADDR(words[0]);
	f->leaf = V8_CODE_IS_LEAF(words[1]);
	f->shared = V8_CODE_SHARED(words[1]);
	if (f->shared && (v8_get_cookie(&f->h, f->shared, &cookie) < 0 || cookie >> 21 != bits)) {
		/* Another function has replaced the sampled one. */
		f->out[0] = (struct lang_call){ .addr = f->shared };
		return 1;
	}
	r = v8_find_code(&f->h, f->pc, &code);
	if (r == 0 && v8_is_baseline(&f->h, &code))
		r = expand_baseline(f, &code);
	else if (r == 0 && v8_is_optimized(&f->h, &code))
		r = expand_optimized(f, &code);
	else if (r == 0)
		r = -ENOENT;
	if (r > 0)
		return r;
	/* The code was freed, but the function still exists. */
	if (f->shared && put_call(f, f->shared, V8_POSITION_NONE, 0) == 0)
		return 1;
	return put_stub(f, f->pc, V8_TYPE_NONE);
}

static int expand_stub(const struct frame *f, const uint64_t words[2])
{
	uint64_t pc = VM_FRAME_ADDR(words[0]);
	uint32_t type = V8_STUB_TYPE(words[1]);

	if (type == V8_TYPE_COLLECTOR) {
		f->out[0] = (struct lang_call){ V8_IS_CODE, COLLECTOR_COOKIE, type };
		return 1;
	}
	if (type == (uint32_t)f->h.vm->f.frame_wasm &&
	    v8_find_wasm(&f->h, V8_CODE_SHARED(words[1]), pc - !V8_CODE_IS_LEAF(words[1]),
			 f->out) == 0)
		return 1;
	return put_stub(f, pc, type);
}

static int expand_bytecode(const struct frame *f, const uint64_t words[2])
{
	uint64_t shared = VM_FRAME_ADDR(words[0]);
	uint32_t offset = VM_PLACE_OF(words[1]), cookie = (uint32_t)words[1], now;
	uint32_t place = V8_POSITION_NONE;

	if (offset < V8_PLACE_NONE && v8_get_cookie(&f->h, shared, &now) == 0 && now == cookie)
		place = bytecode_place(&f->h, shared, offset);
	f->out[0] = (struct lang_call){ .addr = shared, .cookie = cookie, .place = place };
	return 1;
}

int v8_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	struct frame f = { .out = out };
	uint64_t addr = VM_FRAME_ADDR(words[0]);
	int r = v8_heap_init(&f.h, &tables->v8[vm], vm, p);

	if (r < 0)
		return r;
	switch (VM_FRAME_SLOT(words[0])) {
	case V8_BYTECODE:
		return expand_bytecode(&f, words);
	case V8_CODE:
		return expand_code(&f, words);
	case V8_BUILTIN:
		return v8_expand_builtin(&f.h, addr, tables->codes[vm].fold, out);
	default:
		return expand_stub(&f, words);
	}
}
