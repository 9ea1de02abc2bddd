/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/v8/reader.h"
#include "tests/test.h"
#include "v8_memory.h"

int test_v8_wasm(void);

enum {
	WASM = 5, /* type of a WebAssembly frame */
	CODE = 0x600000,
	CODE_BYTES = 0x40,
	MAP = 20, /* index of a word in the module */
	VECTOR = 26,
	BYTES = 9,
	WORDS = 40,
	N_IN_MAP = 3,
	N_NEW = 70,
};

/*
 * "\0asm", a section of another kind, a custom one of another name, and the names of functions
 * 0 and 2.
 */
static const uint8_t wire[] = { 0,   'a', 's', 'm', 1,   0,   0,   0,   1, 2, 0, 0,   0, 3, 2, 'n',
				'o', 0,   18,  4,   'n', 'a', 'm', 'e', 0, 2, 1, 'm', 1, 7, 2, 0,
				1,   'f', 2,   1,   7,   0,   0,   0,   0, 0, 0, 0,   0, 0, 0, 0 };

struct wasm {
	uint64_t instance, module, bytes;
};

/* Adds the code of function @index at @start. */
static uint64_t add_code(struct v8_memory *v, uint64_t module, uint64_t start, uint32_t index)
{
	uint64_t words[8] = { module, start, 0x5000, CODE_BYTES };

	words[5] = (uint64_t)index << 32;
	return memory_add(&v->m, words, sizeof(words));
}

/* Adds a tree of three nodes and its header. The middle one is its root. */
static void put_map(struct v8_memory *v, uint64_t module)
{
	uint64_t nodes[N_IN_MAP], head = module + 8ULL * MAP;

	for (uint32_t i = 0; i < N_IN_MAP; i++) {
		uint64_t start = CODE + i * CODE_BYTES;
		const uint64_t node[6] = { [4] = start, [5] = add_code(v, module, start, i) };

		nodes[i] = memory_add(&v->m, node, sizeof(node));
	}
	memory_put(&v->m, nodes[1] + 8, head);
	memory_put(&v->m, nodes[1] + 16, nodes[0]);
	memory_put(&v->m, nodes[1] + 24, nodes[2]);
	memory_put(&v->m, head + 8, nodes[1]);
	memory_put(&v->m, head + 16, nodes[0]);
	memory_put(&v->m, head + 24, nodes[2]);
	memory_put(&v->m, head + 32, N_IN_MAP);
}

static void put_vector(struct v8_memory *v, uint64_t module)
{
	uint64_t codes[N_NEW], at;

	for (uint32_t i = 0; i < N_NEW; i++)
		codes[i] = add_code(v, module, CODE + (N_IN_MAP + i) * CODE_BYTES, N_IN_MAP + i);
	at = memory_add(&v->m, codes, sizeof(codes));
	memory_put(&v->m, module + 8ULL * VECTOR, at);
	memory_put(&v->m, module + 8ULL * VECTOR + 8, at + sizeof(codes));
	memory_put(&v->m, module + 8ULL * VECTOR + 16, at + sizeof(codes));
}

static uint64_t add_words(struct v8_memory *v, uint64_t first, uint64_t second, uint64_t fourth)
{
	const uint64_t words[] = { first, second, 0, fourth };

	return memory_add(&v->m, words, sizeof(words));
}

static struct wasm add_wasm(struct v8_memory *v)
{
	uint64_t instance[64] = { 0 }, range[2] = { 0, sizeof(wire) }, at;
	struct wasm w;

	w.module = memory_add(&v->m, NULL, WORDS * 8ULL);
	put_map(v, w.module);
	put_vector(v, w.module);
	range[0] = memory_add(&v->m, wire, sizeof(wire));
	w.bytes = memory_add(&v->m, range, sizeof(range));
	memory_put(&v->m, w.module + 8ULL * BYTES, w.bytes);
	/* instance, module object, Managed object, destructor record, std::shared_ptr */
	at = add_words(v, w.module, 0, 0);
	at = add_words(v, 0, 0, at);
	at = add_words(v, 0, at, 0);
	at = add_words(v, 0, 0, at | 1);
	instance[7] = at | 1;
	w.instance = memory_add(&v->m, instance, sizeof(instance));
	v->v8[1].f.frame_wasm = WASM;
	v8_memory_seal(v);
	return w;
}

static int call_at(struct v8_memory *v, uint64_t instance, uint64_t pc, bool leaf,
		   struct lang_call *out)
{
	struct lang_call calls[LANG_CALLS_MAX];
	const uint64_t words[2] = { VM_FRAME_WORD(V8_STUB, 1, pc),
				    V8_STUB_WORD(instance | 1, leaf, WASM) };
	int r = v8_expand(&v->m.tables, 1, &v->m.process, words, calls);

	*out = calls[0];
	return r;
}

static int read_call(struct v8_memory *v, const struct lang_call *call, struct lang_function *f)
{
	*f = (struct lang_function){ .place = call->place };
	return v8_read(&v->m.tables, 1, &v->m.process, call->addr, call->cookie, f);
}

static void assert_function(struct v8_memory *v, const struct wasm *w, uint64_t pc, bool leaf,
			    const char *name)
{
	struct lang_call call;
	struct lang_function f;

	assert_int_equal(call_at(v, w->instance, pc, leaf, &call), 1);
	assert_int_equal(read_call(v, &call, &f), 0);
	assert_string_equal(f.name, name);
	assert_string_equal(f.file, "");
	free(f.name);
	free(f.file);
}

static void names_a_function_or_reports_its_index(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);

	assert_function(v, &w, CODE, true, "f");
	assert_function(v, &w, CODE + CODE_BYTES - 1, true, "f");
	assert_function(v, &w, CODE + CODE_BYTES, true, "wasm-function[1]");
	assert_function(v, &w, CODE + 2 * CODE_BYTES, true, "?");
}

static void a_return_address_at_the_end_is_in_the_function(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);

	assert_function(v, &w, CODE + CODE_BYTES, false, "f");
}

static void new_code_is_found_before_it_is_in_the_map(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);

	assert_function(v, &w, CODE + N_IN_MAP * CODE_BYTES, true, "wasm-function[3]");
	assert_function(v, &w, CODE + 72 * CODE_BYTES, true, "wasm-function[72]");
}

static void unknown_code_is_reported_as_webassembly(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);

	assert_function(v, &w, CODE - 1, true, "[WebAssembly]");
	assert_function(v, &w, CODE + 73 * CODE_BYTES, true, "[WebAssembly]");
	w.instance = 0;
	assert_function(v, &w, CODE, true, "[WebAssembly]");
	w.instance = v->script;
	assert_function(v, &w, CODE, true, "[WebAssembly]");
}

static void uses_indices_without_names(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);

	memory_put(&v->m, w.bytes + 8, 18);
	assert_function(v, &w, CODE, true, "wasm-function[0]");
}

static void detects_another_module_at_the_address(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);
	struct lang_function f;
	struct lang_call call;
	uint64_t other;

	assert_int_equal(call_at(v, w.instance, CODE, true, &call), 1);
	memcpy(&other, memory_at(&v->m, w.bytes), sizeof(other));
	memory_put(&v->m, w.bytes, other - 8);
	assert_int_equal(read_call(v, &call, &f), -ESTALE);
	memory_put(&v->m, w.bytes, other);
	assert_int_equal(read_call(v, &call, &f), 0);
	free(f.name);
	free(f.file);
}

static void reads_the_code_of_each_version(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);
	uint64_t node, code, words[8] = { w.module, CODE, 0, 0x5000, CODE_BYTES };

	memcpy(&node, memory_at(&v->m, w.module + 8ULL * MAP + 16), sizeof(node));
	memcpy(&code, memory_at(&v->m, node + 40), sizeof(code));
	v->v8[1].major = 14;
	words[7] = 9;
	memcpy(memory_at(&v->m, code), words, sizeof(words));
	assert_function(v, &w, CODE + 1, true, "wasm-function[9]");
	v->v8[1].major = 9;
	words[6] = 8;
	memcpy(memory_at(&v->m, code), words, sizeof(words));
	assert_function(v, &w, CODE + 1, true, "wasm-function[8]");
	memcpy(words, (uint64_t[8]){ CODE, CODE_BYTES, 0, 0, 0, 0, w.module, 7 }, sizeof(words));
	memcpy(memory_at(&v->m, code), words, sizeof(words));
	assert_function(v, &w, CODE + 1, true, "wasm-function[7]");
}

static void a_cyclic_tree_ends(void **state)
{
	struct v8_memory *v = *state;
	struct wasm w = add_wasm(v);
	uint64_t root;

	memcpy(&root, memory_at(&v->m, w.module + 8ULL * MAP + 8), sizeof(root));
	memory_put(&v->m, root + 16, root);
	memory_put(&v->m, root + 24, root);
	assert_function(v, &w, CODE + 2 * CODE_BYTES, true, "[WebAssembly]");
}

static void garbage_collection_is_a_frame(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	const uint64_t words[2] = { VM_FRAME_WORD(V8_STUB, 1, 0),
				    V8_STUB_WORD(0, 0, V8_TYPE_COLLECTOR) };
	struct lang_function f;

	v8_memory_seal(v);
	assert_int_equal(v8_expand(&v->m.tables, 1, &v->m.process, words, calls), 1);
	assert_int_equal(read_call(v, &calls[0], &f), 0);
	assert_string_equal(f.name, "(garbage collection)");
	free(f.name);
	free(f.file);
}

int test_v8_wasm(void)
{
	static const struct CMUnitTest tests[] = {
		V8_TEST(names_a_function_or_reports_its_index),
		V8_TEST(a_return_address_at_the_end_is_in_the_function),
		V8_TEST(new_code_is_found_before_it_is_in_the_map),
		V8_TEST(unknown_code_is_reported_as_webassembly),
		V8_TEST(uses_indices_without_names),
		V8_TEST(detects_another_module_at_the_address),
		V8_TEST(reads_the_code_of_each_version),
		V8_TEST(a_cyclic_tree_ends),
		V8_TEST(garbage_collection_is_a_frame),
	};

	return TEST_RUN("test_v8_wasm", tests, NULL, NULL);
}
