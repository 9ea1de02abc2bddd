/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "lang/v8/reader.h"
#include "tests/test.h"
#include "v8_memory.h"

enum {
	HASHES = 24, /* size of the hashes before the rows */
	N_BUILTINS = 70,
	CODE_BYTES = N_BUILTINS * 64,
	NAME_ROW = 24,
};

/* Replaces the metadata by rows of @stride bytes: builtin i is 40 bytes at i * 64. */
static void put_rows(struct v8_memory *v, size_t hashes, size_t stride)
{
	struct v8_vm *vm = &v->v8[1];
	uint64_t at = memory_add(&v->m, NULL, hashes + N_BUILTINS * stride);

	for (uint32_t i = 0; i < N_BUILTINS; i++) {
		const uint32_t row[] = { i * 64, 40 };

		memcpy(memory_at(&v->m, at + hashes + i * stride), row, sizeof(row));
		if (stride > sizeof(row)) /* so that the rest does not pass for a row */
			memset(memory_at(&v->m, at + hashes + i * stride + 8), 0xff, stride - 8);
	}
	vm->blob_data = at;
	vm->blob_data_bytes = (uint32_t)(hashes + N_BUILTINS * stride);
	vm->blob_code_bytes = CODE_BYTES;
	vm->blob_hi = vm->blob_lo + CODE_BYTES;
}

/* Returns the index of the builtin at @offset, -1 if it is unknown, -2 if it is folded. */
static int builtin_at(struct v8_memory *v, uint64_t offset, bool fold)
{
	struct lang_call calls[LANG_CALLS_MAX];
	struct v8_heap h;

	v8_memory_heap(v, &h);
	if (!v8_expand_builtin(&h, v->v8[1].blob_lo + offset, fold, calls))
		return -2;
	assert_int_equal(calls[0].addr & V8_IS_MASK, V8_IS_BUILTIN);
	return (int)(calls[0].addr >> 2) - 1;
}

static void check_rows(struct v8_memory *v)
{
	for (int i = 0; i < N_BUILTINS; i++) {
		assert_int_equal(builtin_at(v, (uint64_t)i * 64, false), i);
		assert_int_equal(builtin_at(v, (uint64_t)i * 64 + 39, false), i);
		assert_int_equal(builtin_at(v, (uint64_t)i * 64 + 40, false), -1);
	}
}

static void recognizes_the_size_of_a_row(void **state)
{
	static const size_t strides[] = { 8, 12, 16, 28, 32 };
	struct v8_memory *v = *state;

	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		put_rows(v, HASHES, strides[i]);
		check_rows(v);
	}
	put_rows(v, HASHES, 20); /* no version has this size */
	assert_int_equal(builtin_at(v, 0, false), -1);
	v->v8[1].major = 8;
	put_rows(v, 16, 8);
	check_rows(v);
}

static void offsets_outside_of_the_code_are_unknown(void **state)
{
	struct v8_memory *v = *state;

	put_rows(v, HASHES, 8);
	assert_int_equal(builtin_at(v, CODE_BYTES, false), -1);
	assert_int_equal(builtin_at(v, (uint64_t)-1, false), -1);
	assert_int_equal(builtin_at(v, 1ULL << 32, false), -1);
}

static void hostile_metadata_has_no_builtins(void **state)
{
	struct v8_memory *v = *state;
	struct v8_vm *vm = &v->v8[1];

	put_rows(v, HASHES, 8);
	vm->blob_data_bytes = UINT32_MAX; /* more than can be read */
	assert_int_equal(builtin_at(v, 0, false), -1);
	for (uint32_t len = 0; len < HASHES + 64 * 8; len += 7) {
		vm->blob_data_bytes = len; /* too few rows to be sure of their size */
		assert_int_equal(builtin_at(v, 0, false), -1);
	}
	put_rows(v, HASHES, 8);
	memset(memory_at(&v->m, vm->blob_data + HASHES), 0xff, 8);
	assert_int_equal(builtin_at(v, 64, false), -1);
	put_rows(v, HASHES, 8);
	vm->blob_data = 0x7f0000000000;
	assert_int_equal(builtin_at(v, 0, false), -1);
	vm->blob_data = 0;
	assert_int_equal(builtin_at(v, 0, false), -1);
}

/* Up to version 8.4 the rows precede the code, each where the one before it ended. */
static void early_metadata_may_be_hostile(void **state)
{
	struct v8_memory *v = *state;
	struct v8_vm *vm = &v->v8[1];
	uint32_t lens[] = { 0, 15, 16, 24, 47, 48, 2000, 16 << 20 };

	vm->major = 8;
	vm->blob_data = 0;
	vm->blob_code = memory_add(&v->m, NULL, 4096);
	srandom(5);
	for (int round = 0; round < 300; round++) {
		uint8_t *table = memory_at(&v->m, vm->blob_code);
		uint32_t next = 0;

		for (size_t i = 0; i < 4096; i++)
			table[i] = (uint8_t)random();
		for (size_t i = 0; i < (size_t)random() % 500; i++) {
			uint32_t row[] = { next, 1 + (uint32_t)random() % (1 << 20) };

			memcpy(table + 16 + 8 * i, row, sizeof(row));
			next = (row[0] + row[1] + 32) & ~31u;
		}
		vm->blob_code_bytes = lens[round % 8];
		vm->blob_hi = vm->blob_lo + vm->blob_code_bytes;
		for (uint64_t at = 0; at < 8192; at += 500)
			assert_true(builtin_at(v, at, false) < 8192);
	}
}

/* ---- names --------------------------------------------------------------------------- */

static void name_builtin(struct v8_memory *v, uint32_t n, const char *name)
{
	memory_put(&v->m, v->v8[1].builtin_names + n * NAME_ROW,
		   memory_add(&v->m, name, strlen(name) + 1));
	memory_add(&v->m, NULL, V8_BUILTIN_NAME_BYTES); /* Names are read with what follows. */
}

static void folds_what_only_enters_functions(void **state)
{
	static const char *const folded[] = { "JSEntry",
					      "JSEntryTrampoline",
					      "CEntry_Return1_DontSaveFPRegs",
					      "Call_ReceiverIsAny",
					      "ConstructStub",
					      "InterpreterEntryTrampoline",
					      "LdaZeroHandler" };
	static const char *const shown[] = { "ArrayMap", "Handlers", "call_", "RegExpExec" };
	struct v8_memory *v = *state;

	put_rows(v, HASHES, 8);
	for (size_t i = 0; i < sizeof(folded) / sizeof(*folded); i++) {
		name_builtin(v, 5, folded[i]);
		assert_int_equal(builtin_at(v, 5 * 64, true), -2);
		assert_int_equal(builtin_at(v, 5 * 64, false), 5);
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		name_builtin(v, 5, shown[i]);
		assert_int_equal(builtin_at(v, 5 * 64, true), 5);
	}
	assert_int_equal(builtin_at(v, 6 * 64, true), 6); /* It has no name. */
}

static void check_name(struct v8_memory *v, int32_t n, const char *want)
{
	struct buf b = { 0 };
	struct v8_heap h;

	v8_memory_heap(v, &h);
	v8_put_builtin(&h, n, &b);
	assert_int_equal(b.len, strlen(want));
	assert_memory_equal(b.data, want, b.len);
	buf_fini(&b);
}

static void names_are_bounded_identifiers(void **state)
{
	struct v8_memory *v = *state;
	char name[200], want[200] = "[builtin: ";

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(want + 10, 'n', V8_BUILTIN_NAME_BYTES - 1);
	want[10 + V8_BUILTIN_NAME_BYTES - 1] = ']';
	name_builtin(v, 5, name);
	check_name(v, 5, want);
	name_builtin(v, 5, "Name\033[31m");
	check_name(v, 5, "[builtin: Name]");
	name_builtin(v, 5, "<script>");
	check_name(v, 5, "[builtin]");
	check_name(v, -1, "[builtin]");
	check_name(v, INT32_MIN, "[builtin]");
	check_name(v, INT32_MAX, "[builtin]");
	check_name(v, 8191, "[builtin]");
	v->v8[1].builtin_names = 0;
	check_name(v, 5, "[builtin]");
}

static void a_name_may_end_with_the_memory(void **state)
{
	struct v8_memory *v = *state;
	uint64_t at = memory_add(&v->m, "12345678", 8);

	/* The longest readable part of 95 bytes, halved, is 5 bytes. */
	memory_put(&v->m, v->v8[1].builtin_names + 5 * NAME_ROW, at);
	check_name(v, 5, "[builtin: 12345]");
}

/* ---- other code ------------------------------------------------------------------------ */

static void check_code(struct v8_memory *v, uint64_t addr, uint32_t cookie, uint32_t place, int r,
		       const char *want)
{
	struct lang_function f = { .place = place };
	struct v8_heap h;

	v8_memory_heap(v, &h);
	assert_int_equal(v8_read_code(&h, addr, cookie, &f), r);
	if (r == 0) {
		assert_string_equal(f.name, want);
		assert_string_equal(f.file, "");
	} else {
		assert_null(f.name);
	}
	free(f.name);
	free(f.file);
}

static void code_that_is_no_function_has_a_name_in_brackets(void **state)
{
	struct v8_memory *v = *state;

	v->v8[1].f.frame_wasm = 5;
	check_code(v, 1 << 2 | V8_IS_BUILTIN, 1, 0, 0, "[builtin]");
	check_code(v, 2 << 2 | V8_IS_BUILTIN, 1, 0, 0, "[builtin: ArrayMap]");
	check_code(v, V8_IS_BUILTIN, 1, 0, 0, "[builtin]");
	check_code(v, 0x80000000ULL << 2 | V8_IS_BUILTIN, 1, 0, 0, "[builtin]");
	check_code(v, UINT64_MAX << 2 | V8_IS_BUILTIN, 1, 0, 0, "[builtin]");
	check_code(v, V8_IS_CODE, 2, V8_TYPE_COLLECTOR, 0, "(garbage collection)");
	check_code(v, 0x5000 | V8_IS_CODE, 1, 5, 0, "[WebAssembly]");
	check_code(v, 0x5000 | V8_IS_CODE, 1, V8_TYPE_NONE, 0, "[generated code]");
	check_code(v, 0x5000 | V8_IS_CODE, 0, V8_TYPE_NONE, -ESTALE, NULL);
	v8_memory_seal(v);
	check_code(v, V8_CODE_AT | V8_IS_CODE, 1, V8_TYPE_NONE, 0, "[stub]");
}

TEST_GROUP(test_v8_embedded, V8_TEST(recognizes_the_size_of_a_row),
	   V8_TEST(offsets_outside_of_the_code_are_unknown),
	   V8_TEST(hostile_metadata_has_no_builtins), V8_TEST(early_metadata_may_be_hostile),
	   V8_TEST(folds_what_only_enters_functions), V8_TEST(names_are_bounded_identifiers),
	   V8_TEST(a_name_may_end_with_the_memory),
	   V8_TEST(code_that_is_no_function_has_a_name_in_brackets))
