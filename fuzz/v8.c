/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial V8 process (tests/unit/lang/v8_memory.c) with arbitrary words replaced: frames of
 * bytecode, optimized and embedded code, inlined functions and deoptimization data, with their
 * names, scopes and lines, in the layout of each version. The position tables and the text of a
 * script are also tested alone. Every reader terminates and stays within its memory.
 *
 * An input is a version and addresses, followed by {offset, word} pairs to replace, which also
 * serve as the tables.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lang/v8/classes.h"
#include "lang/v8/reader.h"
#include "v8_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { HEAD = 8, PATCH = 10, READS_MAX = 200000, BYTECODES_MAX = 255 };

static struct {
	bool made;
	struct v8_memory pristine, now;
	size_t n_reads;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
} world;

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	return ++world.n_reads > READS_MAX ? -1 : world.read(ctx, addr, dst, len);
}

static uint64_t no_bias(void *ctx, uint32_t vm)
{
	(void)ctx;
	return vm ? 8 : 0;
}

/*
 * Calls of both functions, compiled by either compiler, with the frames of one passed to the other.
 */
static void put_deopt(struct v8_memory *v)
{
	static const struct v8_inlining inlined = { V8_SOURCE(V8_OUTER_CALL, -1), V8_INNER_LITERAL,
						    0 };
	static const uint8_t frames[] = { 9, 8, 2, 9, 8, 0, 9, 16, 4, 9, 4, 9 };
	static const uint8_t table[] = { 0x18, 0, 0x60, 0x28, 1, 0x80, 0x30, 2, 0x90 };
	struct v8_memory_deopt d = {
		.entries = { { 0, 0, 0x20 }, { 4, 3, 0x30 }, { 4, 9, 0x40 } },
		.n_entries = 3,
		.inlined = &inlined,
		.n_inlined = 1,
		.frames = frames,
		.frames_len = sizeof(frames),
	};

	v8_memory_put_deopt(v, &d);
	memcpy(memory_at(&v->m, V8_CODE_AT + V8_CODE_BYTES), table, sizeof(table));
}

static void make_world(void)
{
	v8_memory_init(&world.pristine);
	put_deopt(&world.pristine);
	v8_memory_seal(&world.pristine);
	world.read = world.pristine.m.process.read;
	world.made = true;
}

/* Applies the input's words to the image. */
static void make_image(uint8_t version, const uint8_t *data, size_t len)
{
	struct memory *m = &world.now.m;

	memcpy(&world.now, &world.pristine, sizeof(world.now));
	m->tables = (struct vm_tables){ .codes = m->codes, .v8 = world.now.v8 };
	m->process.read = read_memory;
	m->process.bias = no_bias;
	m->process.ctx = m;
	world.now.v8[1].major = (uint16_t)(version % 16);
	world.now.v8[1].f.scope_first_vars = version & 16 ? 5 : 3;
	world.now.v8[1].bytecode_sizes = MEMORY_AT;
	world.now.v8[1].bytecode_sizes_bytes = 3 * BYTECODES_MAX;
	for (size_t i = 0; i + PATCH <= len; i += PATCH) {
		uint16_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(m->bytes + at % (MEMORY_BYTES - 8), data + i + 2, 8);
	}
}

static void name_all(const uint64_t words[2])
{
	struct lang_call calls[LANG_CALLS_MAX];
	struct memory *m = &world.now.m;
	int n = v8_expand(&m->tables, 1, &m->process, words, calls);

	assert(n <= LANG_CALLS_MAX);
	for (int i = 0; i < n; i++) {
		struct lang_function f = { 0 };
		int r = v8_read(&m->tables, 1, &m->process, calls[i].addr, calls[i].cookie, &f);

		if (r == 0) {
			assert(f.name && f.file && strlen(f.name) < 8 * LANG_NAME_MAX);
			(void)v8_line(&f, calls[i].place);
			(void)v8_column(&f, calls[i].place);
		}
		free(f.name);
		free(f.file);
		free(f.lines);
	}
}

/*
 * A call of the optimized code, by its frames; @bits: Maglev made it; the last one before counts.
 */
static void correct(uint32_t place, uint8_t bits)
{
	struct v8_code c = { world.now.code, V8_CODE_AT, V8_CODE_BYTES, 0 };
	int64_t said = V8_SOURCE(place >> 8 & 0x7f, -1), position = said;
	struct v8_deopt d;
	struct v8_heap h;

	if (v8_heap_init(&h, &world.now.v8[1], 1, &world.now.m.process) < 0)
		return;
	c.kind = (uint8_t)(h.shape.kind_top - (bits & 1));
	if (v8_get_deopt(&h, &c, &d) < 0)
		return;
	v8_correct_call(&h, &d, place & 0xff, bits & 2, &position);
	assert(position == said || V8_SOURCE_INLINING(position) < 0 ||
	       (size_t)V8_SOURCE_INLINING(position) < d.inlined.n / sizeof(struct v8_inlining));
}

static void read_tables(const uint8_t *data, size_t len, uint32_t place)
{
	struct v8_method *methods = NULL;
	size_t n_methods = 0;
	uint32_t n = 0;
	int64_t position;

	if (v8_find_methods(data, (uint32_t)len, 1, &methods, &n_methods) == 0) {
		for (size_t i = 0; i < n_methods; i++)
			assert(methods[i].at < len && methods[i].class + methods[i].n_class <= len);
		free(methods);
	}
	if (v8_position_at((enum v8_positions)(place % 3), data, len, place, &position))
		(void)V8_SOURCE_OFFSET(position);
	if (v8_baseline_index(data, len, place, &n))
		assert(n <= len);
	if (len > 3 * BYTECODES_MAX && v8_bytecode_at(data, len, data, BYTECODES_MAX, place, &n))
		assert(n < len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t words[2];
	uint32_t place;

	if (!world.made)
		make_world();
	if (len < HEAD)
		return 0;
	memcpy(&place, data + 4, sizeof(place));
	make_image(data[0], data + HEAD, len - HEAD);
	world.n_reads = 0;
	v8_memory_bytecode_frame(&world.now, world.now.outer, place & 0xff, words);
	name_all(words);
	v8_memory_code_frame(&world.now, data[1], data[2] & 1, words);
	name_all(words);
	if (data[2] & 2) {
		words[1] = V8_CODE_WORD(0, 1, 0);
		name_all(words);
	}
	words[0] = VM_FRAME_WORD(V8_BUILTIN, 1, V8_BLOB_OFF + data[3] * 16);
	words[1] = VM_PLACE_WORD(V8_PLACE_NONE, 1);
	name_all(words);
	/* a WebAssembly frame, whose instance is an arbitrary address */
	world.now.v8[1].f.frame_wasm = 5;
	words[0] = VM_FRAME_WORD(V8_STUB, 1, V8_CODE_AT + data[1]);
	words[1] =
		V8_STUB_WORD(MEMORY_AT + 8 * (place & 0x1fff), data[2] & 1, 3 + (data[2] >> 2 & 3));
	name_all(words);
	for (uint8_t bits = 0; bits < 4; bits++)
		correct(place, bits);
	read_tables(data + HEAD, len - HEAD, place);
	return 0;
}
