/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what frames of HotSpot are named, from a process's memory to the function. Files jvm_*.c
 * test limits and malformed structures of single modules.
 *
 * covers: src/lang/jvm/stubs.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm_memory.h"
#include "lang/memo.h"
#include "tests/test.h"

static struct jvm_memory j;
static struct unwind_mapping regions[LANG_REGIONS_MAX];

static void release(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
	free(f->near_name);
}

static int begin(void **state)
{
	(void)state;
	jvm_memory_init(&j);
	return 0;
}

/* ---- where the code is ------------------------------------------------------ */

static void finds_the_heap_and_the_interpreter(void **state)
{
	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(regions[0].kind, MAPPING_LANG_KIND(LANG_JVM, JVM_PART_CODE));
	assert_int_equal(regions[0].start, JVM_HEAP_AT);
	assert_int_equal(regions[0].end, JVM_HEAP_AT + JVM_HEAP_BYTES);
	assert_int_equal(MAPPING_LANG_VM(regions[0].file), 2);
	assert_int_equal(JVM_MAPPING_SHIFT(regions[0].file), JVM_SEGMENT_SHIFT);
	assert_int_equal(regions[1].kind, MAPPING_LANG_KIND(LANG_JVM, JVM_PART_INTERPRETER) |
						  MAPPING_ENTERED_BY_JUMP);
	assert_int_equal(regions[1].end - regions[1].start, 3 * 64);
	assert_int_equal(regions[2].kind,
			 MAPPING_LANG_KIND(LANG_JVM, JVM_PART_ENTRY) | MAPPING_ENTERED_BY_JUMP);
	assert_int_equal(regions[2].start, regions[1].start + 64);
	assert_int_equal(regions[2].end, regions[1].start + 128);
}

static void finds_only_the_heap_without_threads(void **state)
{
	(void)state;
	memory_put(&j.m, j.threads, 0);
	assert_int_equal(jvm_memory_attach(&j, regions), 1 | LANG_ATTACH_PARTIAL);
	assert_int_equal(regions[0].kind, MAPPING_LANG_KIND(LANG_JVM, JVM_PART_CODE));
}

static void retries_without_an_interpreter(void **state)
{
	(void)state;
	memory_put(&j.m, j.interpreter, 0);
	assert_int_equal(jvm_memory_attach(&j, regions), -EAGAIN);
}

static void rejects_a_library_without_tables(void **state)
{
	(void)state;
	memory_put(&j.m, j.jvm[1].symbols[JVM_SYMBOL_STRUCT_STRIDE], 0);
	assert_true(jvm_memory_attach(&j, regions) < 0);
}

static void survives_garbage_in_any_word(void **state)
{
	size_t len = j.m.len;
	uint64_t words[2];
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f;

	(void)state;
	for (size_t at = 0; at + 8 <= len; at += 8) {
		static const uint64_t garbage[] = { 0, ~0ULL, 0x8000000000000000, MEMORY_AT,
						    0x10101 };

		for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
			uint64_t before;

			memcpy(&before, j.m.bytes + at, sizeof(before));
			memcpy(j.m.bytes + at, &garbage[i], sizeof(before));
			memset(&j.jvm[2], 0, sizeof(j.jvm[2]));
			if (jvm_memory_attach(&j, regions) > 0) {
				jvm_memory_frame(&j, JVM_COMPILED, JVM_CODE_PLACE, words);
				assert_true(jvm_expand(&j.m.tables, 2, &j.m.process, words, calls) >
					    0);
				memset(&f, 0, sizeof(f));
				(void)jvm_read(&j.m.tables, 2, &j.m.process, calls[0].addr,
					       calls[0].cookie, &f);
				release(&f);
			}
			memcpy(j.m.bytes + at, &before, sizeof(before));
		}
	}
}

/* ---- what was inlined ------------------------------------------------------- */

static int expand(enum jvm_object object, uint32_t place, struct lang_call *out)
{
	uint64_t words[2];

	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	jvm_memory_frame(&j, object, place, words);
	return jvm_expand(&j.m.tables, 2, &j.m.process, words, out);
}

static void an_inlined_method_is_a_call_of_its_own(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];

	(void)state;
	assert_int_equal(expand(JVM_COMPILED, JVM_CODE_PLACE, calls), 2);
	assert_int_equal(calls[0].addr, j.inner);
	assert_int_equal(calls[0].place, 5);
	assert_int_equal(calls[1].addr, j.outer);
	assert_int_equal(calls[1].place, 3);
}

static void a_leaf_between_descs_is_near_the_next(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];

	(void)state;
	assert_int_equal(expand(JVM_COMPILED_LEAF, JVM_CODE_PLACE - 5, calls), 2);
	assert_int_equal(calls[0].place, 5 | LANG_PLACE_NEAR);
	assert_int_equal(calls[1].place, 3 | LANG_PLACE_NEAR);
}

static void a_place_after_the_last_desc_is_in_the_method(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];

	(void)state;
	assert_int_equal(expand(JVM_COMPILED, JVM_CODE_PLACE + 1, calls), 1);
	assert_int_equal(calls[0].addr, j.outer);
	assert_int_equal(calls[0].place & ~LANG_PLACE_NEAR, JVM_PLACE_NONE);
}

static void code_that_was_replaced_is_stale(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };

	(void)state;
	memory_put(&j.m, j.nmethod + 304, 78);
	assert_int_equal(expand(JVM_COMPILED, JVM_CODE_PLACE, calls), 1);
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, calls[0].addr, calls[0].cookie, &f),
			 -ESTALE);
}

static void freed_code_is_stale(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };

	(void)state;
	/* The content of a freed block remains unchanged. */
	memory_put(&j.m, JVM_HEAP_AT + JVM_BLOCK_USED, 0);
	assert_int_equal(expand(JVM_COMPILED, JVM_CODE_PLACE, calls), 1);
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, calls[0].addr, calls[0].cookie, &f),
			 -ESTALE);
}

static void a_cycle_of_scopes_ends(void **state)
{
	struct lang_call calls[LANG_CALLS_MAX];

	(void)state;
	/* Make the outer scope its own caller. */
	*(uint8_t *)memory_at(&j.m, j.nmethod + 0x441) = 1;
	assert_int_equal(expand(JVM_COMPILED, JVM_CODE_PLACE, calls), 2);
}

/* ---- names ------------------------------------------------------------------ */

static int read_method(uint64_t method, bool signatures, struct lang_function *out)
{
	uint64_t part;

	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	memcpy(&part, memory_at(&j.m, method + 8), sizeof(part));
	j.m.process.signatures = signatures;
	*out = (struct lang_function){ 0 };
	return jvm_read(&j.m.tables, 2, &j.m.process, method, lang_cookie(part), out);
}

static void a_method_has_name_file_and_lines(void **state)
{
	struct lang_function f;

	(void)state;
	assert_int_equal(read_method(j.outer, false, &f), 0);
	assert_string_equal(f.name, "pkg.Outer.run");
	assert_string_equal(f.file, "Outer.java");
	assert_string_equal(f.near_name, "pkg.Outer.run [nearest safepoint]");
	assert_int_equal(f.first_line, 10);
	assert_int_equal(jvm_line(&f, 0), 10);
	assert_int_equal(jvm_line(&f, 2), 10);
	assert_int_equal(jvm_line(&f, 3), 12);
	assert_int_equal(jvm_line(&f, JVM_PLACE_NONE), 0);
	release(&f);
}

static void parameters_are_java_types(void **state)
{
	struct lang_function f;

	(void)state;
	assert_int_equal(read_method(j.outer, true, &f), 0);
	assert_string_equal(f.name, "pkg.Outer.run(int[], java.lang.String)");
	release(&f);
	assert_int_equal(read_method(j.inner, true, &f), 0);
	assert_string_equal(f.name, "pkg.Outer.inner()");
	release(&f);
}

static void name_class(const char *name)
{
	uint64_t klass, symbol;
	uint16_t len = (uint16_t)strlen(name);

	memcpy(&klass, memory_at(&j.m, j.pool + 24), sizeof(klass));
	symbol = JVM_HEAP_AT + 0x3000;
	memcpy(memory_at(&j.m, symbol + 4), &len, sizeof(len));
	memcpy(memory_at(&j.m, symbol + 6), name, len);
	memory_put(&j.m, klass + 24, symbol);
}

static void hidden_classes_have_the_same_name_in_every_run(void **state)
{
	static const char *const names[][2] = {
		{ "a/B$$Lambda$14+0x0000000800c03000", "a.B$$Lambda.run" },
		{ "a/B$$Lambda$1/1234567", "a.B$$Lambda.run" },
		{ "a/B$$Lambda+0x00007f", "a.B$$Lambda.run" },
		{ "java/lang/invoke/LambdaForm$MH+0x0000000800c00400",
		  "java.lang.invoke.LambdaForm$MH.run" },
		{ "java/lang/invoke/LambdaForm$DMH/1123", "java.lang.invoke.LambdaForm$DMH.run" },
		{ "a/b1/face", "a.b1.face.run" },
		{ "a/B1", "a.B1.run" },
	};
	struct lang_function f;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_class(names[i][0]);
		assert_int_equal(read_method(j.outer, false, &f), 0);
		assert_string_equal(f.name, names[i][1]);
		release(&f);
	}
}

static void a_method_whose_memory_was_reused_is_stale(void **state)
{
	struct lang_function f = { 0 };

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, j.outer, 5, &f), -ESTALE);
	assert_null(f.name);
}

static void distinguishes_a_class_at_a_reused_address(void **state)
{
	struct lang_function f = { 0 };
	struct jvm_identity id;

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(jvm_identity_read(&j.jvm[2], &j.m.process, j.outer, &id), 0);
	assert_int_not_equal(id.whole, id.part);
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, j.outer, lang_cookie(id.whole), &f),
			 0);
	release(&f);
	f = (struct lang_function){ 0 };
	name_class("pkg/Other");
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, j.outer, lang_cookie(id.whole), &f),
			 -ESTALE);
	assert_null(f.name);
}

static void identifies_a_method_without_its_class(void **state)
{
	struct jvm_identity id;
	uint64_t klass;

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	memcpy(&klass, memory_at(&j.m, j.pool + 24), sizeof(klass));
	memory_put(&j.m, klass + 24, 16);
	assert_int_equal(jvm_identity_read(&j.jvm[2], &j.m.process, j.outer, &id), 0);
	assert_int_equal(id.whole, id.part);
}

static void a_stub_has_its_own_name(void **state)
{
	struct lang_function f = { 0 };
	uint64_t name;

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	memcpy(&name, memory_at(&j.m, j.stub + 96), sizeof(name));
	assert_int_equal(
		jvm_read(&j.m.tables, 2, &j.m.process, j.stub | JVM_IS_STUB, lang_cookie(name), &f),
		0);
	assert_string_equal(f.name, "[stub: interpreter/compiled adapter]");
	release(&f);
}

static void assert_blob_name(const char *theirs, const char *ours)
{
	struct lang_function f = { 0 };
	uint64_t name;

	memcpy(&name, memory_at(&j.m, j.stub + 96), sizeof(name));
	memcpy(memory_at(&j.m, name), theirs, strlen(theirs) + 1);
	assert_int_equal(
		jvm_read(&j.m.tables, 2, &j.m.process, j.stub | JVM_IS_STUB, lang_cookie(name), &f),
		0);
	assert_string_equal(f.name, ours);
	release(&f);
}

static void names_of_stubs_are_the_same_in_all_versions(void **state)
{
	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_blob_name("vtable chunks", "[stub: vtable/itable stub]");
	assert_blob_name("C1 Runtime a_blob", "[stub: a]");
	assert_blob_name("a Runtime1 stub", "[stub: a]");
	assert_blob_name("_a_Java", "[stub: a]");
	assert_blob_name("_blob", "[stub: blob]");
	assert_blob_name("_", "[stub: _]");
}

static void a_stub_may_represent_frames_in_the_heap(void **state)
{
	const uint64_t words[2] = { VM_FRAME_WORD(JVM_STUB, 2, j.stub),
				    VM_PLACE_WORD(JVM_STUB_IN_HEAP, 5) };
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };
	uint64_t name;

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(jvm_expand(&j.m.tables, 2, &j.m.process, words, calls), 1);
	assert_int_equal(calls[0].addr, j.stub | JVM_IS_STUB | JVM_IS_BARRIER);
	memcpy(&name, memory_at(&j.m, j.stub + 96), sizeof(name));
	strcpy(memory_at(&j.m, name), "StubRoutines (1)");
	assert_int_equal(
		jvm_read(&j.m.tables, 2, &j.m.process, calls[0].addr, lang_cookie(name), &f), 0);
	assert_string_equal(f.name, "[more frames in the heap]");
	release(&f);
}

/* ---- routines ---------------------------------------------------------------- */

static uint64_t no_bias(void *ctx, uint32_t vm)
{
	(void)ctx;
	assert_int_equal(vm, 1);
	return 0;
}

/*
 * Returns the name of the frame @place bytes after the start of the stub's code. The caller
 * frees it.
 */
static char *routine_name(uint32_t place)
{
	_cleanup_(lang_memo_freep) struct lang_memo *memo = NULL;
	struct lang_call calls[LANG_CALLS_MAX];
	struct lang_function f = { 0 };
	uint64_t words[2];

	assert_int_equal(lang_memo_new(&memo), 0);
	j.m.process.memo = memo;
	j.m.process.bias = no_bias;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	jvm_memory_frame(&j, JVM_STUB, place, words);
	assert_int_equal(jvm_expand(&j.m.tables, 2, &j.m.process, words, calls), 1);
	assert_int_equal(jvm_read(&j.m.tables, 2, &j.m.process, calls[0].addr, calls[0].cookie, &f),
			 0);
	free(f.file);
	return f.name;
}

static void assert_routine(uint32_t place, const char *name)
{
	char *is = routine_name(place);

	assert_string_equal(is, name);
	free(is);
}

static void reports_the_routine_that_ran(void **state)
{
	(void)state;
	assert_routine(0, "[stub: whole]");
	assert_routine(0x3f, "[stub: whole]");
	assert_routine(0x40, "[stub: part]");
	assert_routine(0x7f, "[stub: part]");
	assert_routine(0x80, "[stub: interpreter/compiled adapter]");
}

static void reads_routines_with_a_number(void **state)
{
	(void)state;
	memory_put(&j.m, j.routines + 40, j.stub + JVM_STUB_CODE + 0x80);
	memory_put(&j.m, j.routines + 32, j.stub + JVM_STUB_CODE + 0x40);
	memory_put(&j.m, j.routines + 24, 0xffff000000000007);
	assert_routine(0x40, "[stub: part]");
}

static void names_of_26_equal_earlier_ones(void **state)
{
	static const char name[] = "Stub Generator part_stub", other[] = "Stub Generator _stub";

	uint64_t at = j.stub + JVM_STUB_CODE; /* the stub's code, which is never read */

	(void)state;
	memory_put(&j.m, j.routines + 16, at);
	memcpy(memory_at(&j.m, at), name, sizeof(name));
	assert_routine(0x40, "[stub: part]");
	memcpy(memory_at(&j.m, at), other, sizeof(other));
	assert_routine(0x40, "[stub: _stub]");
}

static void a_cyclic_or_broken_list_of_routines_ends(void **state)
{
	(void)state;
	memory_put(&j.m, j.routines, j.routines);
	assert_routine(0x40, "[stub: part]");
	assert_routine(0, "[stub: interpreter/compiled adapter]");
	memory_put(&j.m, j.routines, 16);
	assert_routine(0x40, "[stub: part]");
}

static void rejects_routines_of_implausible_size(void **state)
{
	(void)state;
	memory_put(&j.m, j.routines + 24, 0);
	memory_put(&j.m, j.routines + 32, ~0ULL);
	assert_routine(0x40, "[stub: whole]");
}

/* ---- frames in the heap ------------------------------------------------------ */

static void finds_frames_in_the_heap(void **state)
{
	const struct jvm_vm *vm = &j.m.tables.jvm[2];

	(void)state;
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(vm->tail, 32);
	assert_int_equal(vm->chunk_parent, 40);
	assert_int_equal(vm->chunk_size, 12);
	assert_int_equal(vm->chunk_sp, 24);
	assert_int_equal(vm->chunk_bottom, 28);
	assert_int_equal(vm->chunk_args, 0);
	assert_int_equal(vm->chunk_pc, 16);
	assert_int_equal(vm->chunk_stack, 48);
	assert_int_equal(vm->ref_kind, JVM_REF_NARROW);
	assert_int_equal(vm->ref_base, 0x100000);
	assert_int_equal(vm->ref_shift, 3);
}

static void finds_no_frames_in_the_heap_without_the_classes(void **state)
{
	(void)state;
	memory_put(&j.m, j.klasses + 8, 0);
	assert_int_equal(jvm_memory_attach(&j, regions), 3);
	assert_int_equal(j.m.tables.jvm[2].chunk_stack, 0);
	assert_int_equal(j.m.tables.jvm[2].ref_kind, JVM_REF_PLAIN);
}

/* ---- packed numbers --------------------------------------------------------- */

static void reads_numbers_of_one_to_five_bytes(void **state)
{
	static const struct {
		uint8_t bytes[5];
		size_t len;
		uint32_t old, zero_free;
	} cases[] = {
		{ { 1 }, 1, 1, 0 },
		{ { 191 }, 1, 191, 190 },
		{ { 192, 1 }, 2, 192 + 64, 191 },
		{ { 255, 255, 1 }, 3, 255 + 255 * 64 + 4096, 254 + 254 * 64 },
		{ { 255, 255, 255, 255, 255 },
		  5,
		  255u * (1 + (1 << 6) + (1 << 12) + (1 << 18) + (1u << 24)),
		  254u * (1 + (1 << 6) + (1 << 12) + (1 << 18) + (1u << 24)) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jvm_packed p = { cases[i].bytes, cases[i].len, 0, false };

		assert_int_equal(jvm_packed_uint(&p), cases[i].old);
		assert_int_equal(p.at, cases[i].len);
		p = (struct jvm_packed){ cases[i].bytes, cases[i].len, 0, true };
		assert_int_equal(jvm_packed_uint(&p), cases[i].zero_free);
		assert_int_equal(p.at, cases[i].len);
	}
}

static void a_truncated_number_ends(void **state)
{
	static const uint8_t bytes[] = { 200 };
	struct jvm_packed p = { bytes, 1, 0, false };

	(void)state;
	assert_int_equal(jvm_packed_uint(&p), 200);
	assert_int_equal(jvm_packed_uint(&p), 0);
	assert_int_equal(p.at, 1);
}

static void reads_signed_numbers(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 2, 3 };
	struct jvm_packed p = { bytes, 4, 0, false };

	(void)state;
	assert_int_equal(jvm_packed_int(&p), 0);
	assert_int_equal(jvm_packed_int(&p), -1);
	assert_int_equal(jvm_packed_int(&p), 1);
	assert_int_equal(jvm_packed_int(&p), -2);
}

#define WITH(fn) cmocka_unit_test_setup(fn, begin)

TEST_GROUP(test_jvm, WITH(finds_the_heap_and_the_interpreter),
	   WITH(finds_only_the_heap_without_threads), WITH(retries_without_an_interpreter),
	   WITH(rejects_a_library_without_tables), WITH(survives_garbage_in_any_word),
	   WITH(an_inlined_method_is_a_call_of_its_own),
	   WITH(a_leaf_between_descs_is_near_the_next),
	   WITH(a_place_after_the_last_desc_is_in_the_method),
	   WITH(code_that_was_replaced_is_stale), WITH(freed_code_is_stale),
	   WITH(a_cycle_of_scopes_ends), WITH(distinguishes_a_class_at_a_reused_address),
	   WITH(identifies_a_method_without_its_class), WITH(a_method_has_name_file_and_lines),
	   WITH(parameters_are_java_types), WITH(hidden_classes_have_the_same_name_in_every_run),
	   WITH(a_method_whose_memory_was_reused_is_stale), WITH(a_stub_has_its_own_name),
	   WITH(finds_frames_in_the_heap), WITH(finds_no_frames_in_the_heap_without_the_classes),
	   WITH(names_of_stubs_are_the_same_in_all_versions),
	   WITH(a_stub_may_represent_frames_in_the_heap), WITH(reports_the_routine_that_ran),
	   WITH(reads_routines_with_a_number), WITH(names_of_26_equal_earlier_ones),
	   WITH(a_cyclic_or_broken_list_of_routines_ends),
	   WITH(rejects_routines_of_implausible_size), TEST(reads_numbers_of_one_to_five_bytes),
	   TEST(a_truncated_number_ends), TEST(reads_signed_numbers))
