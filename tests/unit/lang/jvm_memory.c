/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	STRUCT_STRIDE = 48,
	TYPE_STRIDE = 40,
	INT_STRIDE = 16,
	METHOD_BYTES = 88,
	CONST_BYTES = 48,
	POOL_BYTES = 72,
	NMETHOD_BYTES = 352,
	BLOCK_BYTES = 16,
};

static const struct field {
	const char *type, *field, *kind;
	uint64_t offset;
} fields[] = {
	{ "CodeBlob", "_name", "const char*", 96 },
	{ "CodeBlob", "_header_size", "int", 16 },
	{ "CodeBlob", "_frame_complete_offset", "int", 20 },
	{ "CodeBlob", "_frame_size", "int", 28 },
	{ "CodeBlob", "_code_begin", "address", 32 },
	{ "CompiledMethod", "_method", "Method*", 112 },
	{ "CompiledMethod", "_scopes_data_begin", "address", 120 },
	{ "CompiledMethod", "_deopt_handler_begin", "address", 128 },
	{ "CompiledMethod", "_deopt_mh_handler_begin", "address", 136 },
	{ "nmethod", "_orig_pc_offset", "int", 300 },
	{ "nmethod", "_metadata_offset", "int", 260 },
	{ "nmethod", "_scopes_pcs_offset", "int", 268 },
	{ "nmethod", "_dependencies_offset", "int", 272 },
	{ "nmethod", "_verified_entry_point", "address", 224 },
	{ "nmethod", "_compile_id", "int", 304 },
	{ "Method", "_constMethod", "ConstMethod*", 8 },
	{ "Method", "_nothing", "int", 16 },
	{ "ConstMethod", "_constants", "ConstantPool*", 8 },
	{ "ConstMethod", "_constMethod_size", "int", 24 },
	{ "ConstMethod", "_flags", "u2", 28 },
	{ "ConstMethod", "_code_size", "u2", 32 },
	{ "ConstMethod", "_name_index", "u2", 34 },
	{ "ConstMethod", "_signature_index", "u2", 36 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", 24 },
	{ "ConstantPool", "_length", "int", 60 },
	{ "ConstantPool", "_source_file_name_index", "u2", 54 },
	{ "Klass", "_name", "Symbol*", 24 },
	{ "Klass", "_layout_helper", "jint", 8 },
	{ "InstanceKlass", "_constants", "ConstantPool*", 32 },
	{ "InstanceKlass", "_fieldinfo_stream", "Array<u1>*", 40 },
	{ "Symbol", "_hash_and_refcount", "unsigned int", 0 },
	{ "Symbol", "_length", "u2", 4 },
	{ "Symbol", "_body", "", 6 },
	{ "CodeHeap", "_memory", "VirtualSpace", 8 },
	{ "CodeHeap", "_segmap", "VirtualSpace", 120 },
	{ "CodeHeap", "_log2_segment_size", "int", 232 },
	{ "VirtualSpace", "_low_boundary", "char*", 0 },
	{ "VirtualSpace", "_high_boundary", "char*", 8 },
	{ "VirtualSpace", "_low", "char*", 16 },
	{ "GrowableArrayBase", "_len", "int", 0 },
	{ "GrowableArray<int>", "_data", "int*", 8 },
	{ "StubQueue", "_stub_buffer", "address", 8 },
	{ "StubQueue", "_queue_begin", "int", 24 },
	{ "StubQueue", "_queue_end", "int", 28 },
	{ "InterpreterCodelet", "_size", "int", 8 },
	{ "HeapBlock::Header", "_used", "bool", JVM_BLOCK_USED },
	{ "InterpreterCodelet", "_description", "const char*", 0 },
};

static uint64_t word(struct jvm_memory *j, uint64_t value)
{
	return memory_add(&j->m, &value, sizeof(value));
}

static uint64_t text(struct jvm_memory *j, const char *s)
{
	return memory_add(&j->m, s, strlen(s) + 1);
}

void jvm_memory_put32(struct jvm_memory *j, uint64_t addr, uint32_t value)
{
	memcpy(memory_at(&j->m, addr), &value, sizeof(value));
}

void jvm_memory_put16(struct jvm_memory *j, uint64_t addr, uint16_t value)
{
	memcpy(memory_at(&j->m, addr), &value, sizeof(value));
}

uint64_t jvm_memory_word(struct jvm_memory *j, uint64_t addr)
{
	uint64_t value;

	memcpy(&value, memory_at(&j->m, addr), sizeof(value));
	return value;
}

static void put_field(struct jvm_memory *j, uint64_t at, const struct field *f, uint64_t address)
{
	memory_put(&j->m, at, text(j, f->type));
	memory_put(&j->m, at + 8, text(j, f->field));
	memory_put(&j->m, at + 16, text(j, f->kind));
	memory_put(&j->m, at + 32, f->offset);
	memory_put(&j->m, at + 40, address);
}

static void put_structs(struct jvm_memory *j, uint64_t heaps, uint64_t major)
{
	static const struct field statics[] = {
		{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 0 },
		{ "AbstractInterpreter", "_code", "StubQueue*", 0 },
		{ "Threads", "_number_of_threads", "int", 0 },
		{ "Abstract_VM_Version", "_vm_major_version", "int", 0 },
		{ "vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",
		  "InstanceKlass*", 0 },
		{ "CompressedOops", "_base", "address", 0 },
		{ "CompressedOops", "_shift", "int", 0 },
	};
	uint64_t addresses[] = { heaps,      j->interpreter,    j->threads, major,
				 j->klasses, word(j, 0x100000), word(j, 3) };
	size_t n = sizeof(fields) / sizeof(fields[0]), n_static = 7;
	uint64_t at = memory_add(&j->m, NULL, (n + n_static + 1) * STRUCT_STRIDE);
	uint64_t values[] = { word(j, at), word(j, STRUCT_STRIDE),
			      word(j, 0),  word(j, 8),
			      word(j, 16), word(j, 32),
			      word(j, 40) };

	memcpy(&j->jvm[1].symbols[JVM_SYMBOL_STRUCTS], values, sizeof(values));
	for (size_t i = 0; i < n; i++)
		put_field(j, at + i * STRUCT_STRIDE, &fields[i], 0);
	for (size_t i = 0; i < n_static; i++)
		put_field(j, at + (n + i) * STRUCT_STRIDE, &statics[i], addresses[i]);
}

static void put_numbers(struct jvm_memory *j)
{
	static const struct {
		const char *name;
		uint64_t size;
	} types[] = { { "HeapBlock", BLOCK_BYTES },
		      { "nmethod", NMETHOD_BYTES },
		      { "ConstMethod", CONST_BYTES },
		      { "ConstantPool", POOL_BYTES } };
	uint64_t at = memory_add(&j->m, NULL, 5 * TYPE_STRIDE);
	uint64_t ints = memory_add(&j->m, NULL, 2 * INT_STRIDE);
	uint64_t values[] = { word(j, at),   word(j, TYPE_STRIDE), word(j, 0), word(j, 32),
			      word(j, ints), word(j, INT_STRIDE),  word(j, 0), word(j, 8) };

	memcpy(&j->jvm[1].symbols[JVM_SYMBOL_TYPES], values, sizeof(values));
	for (size_t i = 0; i < 4; i++) {
		memory_put(&j->m, at + i * TYPE_STRIDE, text(j, types[i].name));
		memory_put(&j->m, at + i * TYPE_STRIDE + 32, types[i].size);
	}
	memory_put(&j->m, ints, text(j, "ConstMethod::_has_linenumber_table"));
	memory_put(&j->m, ints + 8, 1);
}

/* ---- a class ---------------------------------------------------------------- */

void jvm_memory_put_symbol(struct jvm_memory *j, uint64_t at, const char *s)
{
	jvm_memory_put16(j, at + 2, (uint16_t)(strlen(s) << 8 | (uint8_t)s[0]));
	jvm_memory_put16(j, at + 4, (uint16_t)strlen(s));
	memcpy(memory_at(&j->m, at + 6), s, strlen(s));
}

static uint64_t symbol(struct jvm_memory *j, const char *s)
{
	uint64_t at = memory_add(&j->m, NULL, 6 + strlen(s));

	jvm_memory_put_symbol(j, at, s);
	return at;
}

static uint64_t method(struct jvm_memory *j, uint16_t name, uint16_t signature)
{
	/* 8 bytes of byte code, then the line table: index 0 is line 10, 3 is 12, 5 is 300 */
	static const uint8_t lines[] = { 0xff, 0, 20, 3 << 3 | 2, 0xff, 4, 192, 6, 0 };
	uint64_t part = memory_add(&j->m, NULL, 80), at = memory_add(&j->m, NULL, METHOD_BYTES);

	memory_put(&j->m, at + 8, part);
	memory_put(&j->m, part + 8, j->pool);
	jvm_memory_put32(j, part + 24, 80 / 8);
	jvm_memory_put16(j, part + 28, 1);
	jvm_memory_put16(j, part + 32, 8);
	jvm_memory_put16(j, part + 34, name);
	jvm_memory_put16(j, part + 36, signature);
	memcpy(memory_at(&j->m, part + CONST_BYTES + 8), lines, sizeof(lines));
	j->lines = part + CONST_BYTES + 8;
	return at;
}

static void put_class(struct jvm_memory *j)
{
	static const char *const names[] = { "run", "([ILjava/lang/String;)V", "inner", "()I",
					     "Outer.java" };
	uint64_t klass = memory_add(&j->m, NULL, 64);

	j->pool = memory_add(&j->m, NULL, POOL_BYTES + 6 * 8);
	memory_put(&j->m, klass + 24, symbol(j, "pkg/Outer"));
	memory_put(&j->m, j->pool + 24, klass);
	jvm_memory_put32(j, j->pool + 60, 6);
	jvm_memory_put16(j, j->pool + 54, 5);
	for (size_t i = 0; i < 5; i++)
		memory_put(&j->m, j->pool + POOL_BYTES + (i + 1) * 8, symbol(j, names[i]));
	j->outer = method(j, 1, 2);
	j->inner = method(j, 3, 4);
}

/* Adds a class whose fields are described by @stream. */
static uint64_t put_class_of(struct jvm_memory *j, const char *name, uint64_t pool, uint32_t bytes,
			     const uint8_t *stream, uint32_t len)
{
	uint64_t klass = memory_add(&j->m, NULL, 64), at = memory_add(&j->m, NULL, 4 + len);

	jvm_memory_put32(j, at, len);
	memcpy(memory_at(&j->m, at + 4), stream, len);
	memory_put(&j->m, klass + 24, symbol(j, name));
	jvm_memory_put32(j, klass + 8, bytes);
	memory_put(&j->m, klass + 32, pool);
	memory_put(&j->m, klass + 40, at);
	return klass;
}

/* Adds the classes for frames in the heap. A field is {name, type, offset, access, flags}. */
static void put_chunks(struct jvm_memory *j)
{
	static const char *const names[] = { "tail", "parent", "size", "sp", "bottom", "Lx;", "I" };
	static const uint8_t continuation[] = { 2, 0, 2,  6, 28, 0, 4, /* injected fields: */ 9,
						1, 6, 32, 0, 0 };
	static const uint8_t chunk[] = { 4, 3,  2, 6,  40, 0, 0,  3, 7,  12, 0, 0,  4,
					 7, 24, 0, 0,  5,  7, 28, 0, 0,  9,  9, 44, 0,
					 2, 9,  9, 36, 0,  2, 9,  9, 16, 0,  2 };
	uint64_t pool = memory_add(&j->m, NULL, POOL_BYTES + 8 * 8);

	j->klasses = memory_add(&j->m, NULL, 3 * 8);
	for (size_t i = 0; i < 7; i++)
		memory_put(&j->m, pool + POOL_BYTES + (i + 1) * 8, symbol(j, names[i]));
	memory_put(
		&j->m, j->klasses + 8,
		put_class_of(j, "jdk/internal/vm/StackChunk", pool, 48 | 1, chunk, sizeof(chunk)));
	memory_put(&j->m, j->klasses + 16,
		   put_class_of(j, "jdk/internal/vm/Continuation", pool, 48, continuation,
				sizeof(continuation)));
}

/* ---- code ------------------------------------------------------------------- */

static uint64_t put_heap(struct jvm_memory *j)
{
	uint64_t heap = memory_add(&j->m, NULL, 240), array = memory_add(&j->m, NULL, 16);
	uint64_t segmap = memory_add(&j->m, NULL, JVM_HEAP_BYTES >> JVM_SEGMENT_SHIFT);

	memory_put(&j->m, heap + 8, JVM_HEAP_AT);
	memory_put(&j->m, heap + 16, JVM_HEAP_AT + JVM_HEAP_BYTES);
	memory_put(&j->m, heap + 120 + 16, segmap);
	jvm_memory_put32(j, heap + 232, JVM_SEGMENT_SHIFT);
	jvm_memory_put32(j, array, 1);
	memory_put(&j->m, array + 8, word(j, heap));
	return word(j, array);
}

static void put_interpreter(struct jvm_memory *j)
{
	static const char *const names[] = { "return entry points", "method entry point (kind = x)",
					     "iadd" };
	uint64_t at = JVM_HEAP_AT + 0x1000, queue = memory_add(&j->m, NULL, 40);

	for (size_t i = 0; i < 3; i++) {
		memory_put(&j->m, at + i * 64, text(j, names[i]));
		jvm_memory_put32(j, at + i * 64 + 8, 64);
	}
	memory_put(&j->m, queue + 8, at);
	jvm_memory_put32(j, queue + 28, 3 * 64);
	j->interpreter = word(j, queue);
}

/*
 * Adds a compiled method with inner() inlined in outer() at JVM_CODE_PLACE, and the PcDesc that
 * marks the end.
 */
static void put_compiled(struct jvm_memory *j)
{
	static const uint8_t scopes[] = {
		0,       /* offset 0 is not a scope */
		0, 1, 4, /* offset 1: outer, index 3 */
		1, 2, 6
	}; /* offset 4: called by the scope at 1; inner, index 5 */
	static const int32_t pcs[3][4] = { { -1, 0, 0, 0 },
					   { JVM_CODE_PLACE, 4, 0, 0 },
					   { 0x7fff, 0, 0, 0 } };
	uint64_t at = JVM_HEAP_AT + BLOCK_BYTES;

	j->nmethod = at;
	jvm_memory_put32(j, at - BLOCK_BYTES + JVM_BLOCK_USED, 1);
	memory_put(&j->m, at + 96, text(j, "nmethod"));
	jvm_memory_put32(j, at + 16, NMETHOD_BYTES);
	jvm_memory_put32(j, at + 28, 4);
	memory_put(&j->m, at + 32, at + 0x200);
	memory_put(&j->m, at + 112, j->outer);
	jvm_memory_put32(j, at + 304, 77);
	jvm_memory_put32(j, at + 260, 0x400);
	memory_put(&j->m, at + 0x400, j->outer);
	memory_put(&j->m, at + 0x408, j->inner);
	memory_put(&j->m, at + 120, at + 0x440);
	memcpy(memory_at(&j->m, at + 0x440), scopes, sizeof(scopes));
	jvm_memory_put32(j, at + 268, 0x480);
	jvm_memory_put32(j, at + 272, 0x480 + sizeof(pcs));
	memcpy(memory_at(&j->m, at + 0x480), pcs, sizeof(pcs));
	j->stub = JVM_HEAP_AT + 0x2000;
	memory_put(&j->m, j->stub + 96, text(j, "I2C/C2I adapters(0xba)"));
	memory_put(&j->m, j->stub + 32, j->stub + JVM_STUB_CODE);
}

/* Adds two routines to the stub. The older one covers all of it and is the last of the list. */
static void put_routines(struct jvm_memory *j)
{
	static const char *const names[] = { "whole", "part" };
	uint64_t at = 0, next;

	for (uint32_t i = 0; i < 2; i++) {
		next = at;
		at = memory_add(&j->m, NULL, 48);
		memory_put(&j->m, at, next);
		memory_put(&j->m, at + 16, text(j, names[i]));
		memory_put(&j->m, at + 24, j->stub + JVM_STUB_CODE + 0x40 * i);
		memory_put(&j->m, at + 32, j->stub + JVM_STUB_CODE + 0x80);
	}
	j->routines = at;
	j->jvm[1].symbols[JVM_SYMBOL_ROUTINES] = word(j, at);
}

void jvm_memory_init(struct jvm_memory *j)
{
	uint64_t heaps;

	memset(j, 0, sizeof(*j));
	memory_init(&j->m, 11);
	j->m.tables.jvm = j->jvm;
	j->m.codes[1].lang = LANG_JVM;
	heaps = put_heap(j);
	put_class(j);
	put_chunks(j);
	j->threads = word(j, 3);
	/* Parts at fixed addresses are put last, when all of the memory exists. */
	put_interpreter(j);
	put_compiled(j);
	put_routines(j);
	put_structs(j, heaps, word(j, 17));
	put_numbers(j);
	assert(MEMORY_AT + j->m.len < JVM_HEAP_AT);
	j->m.len = sizeof(j->m.bytes);
}

int jvm_memory_setup(void **state)
{
	struct jvm_memory *j = malloc(sizeof(*j));

	if (!j)
		return -1;
	jvm_memory_init(j);
	*state = j;
	return 0;
}

int jvm_memory_teardown(void **state)
{
	free(*state);
	return 0;
}

int jvm_memory_attach(struct jvm_memory *j, struct unwind_mapping out[LANG_REGIONS_MAX])
{
	const struct vm_tables own = { .jvm = &j->jvm[2] };
	int n = jvm_attach(&j->m.tables, 1, 0, &j->m.process, &own, out);

	for (int i = 0; i < (n > 0 ? n & ~LANG_ATTACH_PARTIAL : 0); i++)
		out[i].file = MAPPING_LANG_FILE(2, MAPPING_LANG_DATA(out[i].file));
	return n;
}

void jvm_memory_frame(struct jvm_memory *j, enum jvm_object object, uint32_t place,
		      uint64_t words[2])
{
	uint64_t name;

	memcpy(&name, memory_at(&j->m, j->stub + 96), sizeof(name));
	words[0] = VM_FRAME_WORD(object, 2, object == JVM_STUB ? j->stub : j->nmethod);
	words[1] = VM_PLACE_WORD(place, object == JVM_STUB ? lang_cookie(name)
							   : lang_cookie(j->outer ^ 77ULL << 40));
}
