/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what frames of V8 are named, from a process's memory to the function. Files v8_*.c test
 * limits and malformed structures of single modules.
 *
 * covers: src/lang/v8/expand.c src/lang/v8/symbolize.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/memo.h"
#include "lang/v8/classes.h"
#include "lang/v8/heap.h"
#include "tests/test.h"
#include "v8_memory.h"

int test_v8(void);

static struct lang_function read_function(struct v8_memory *v, uint64_t shared, uint32_t cookie,
					  int expected)
{
	struct lang_function f = { 0 };
	int r = v8_read(&v->m.tables, 1, &v->m.process, shared, cookie, &f);

	assert_int_equal(r, expected);
	return f;
}

static void free_function(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
}

/* Checks the name of a function with these names, each stored in all forms of strings. */
static void assert_name(struct v8_memory *v, uint64_t name, uint64_t inferred, const char *expected)
{
	uint64_t shared = v8_memory_function(v, name, inferred, V8_INNER_START, V8_INNER_START + 9);
	size_t len = v->m.len;
	struct lang_function f;

	v->m.len = MEMORY_BYTES;
	f = read_function(v, shared, v8_memory_cookie(v, shared), 0);
	v->m.len = len;
	assert_string_equal(f.name, expected);
	free_function(&f);
}

static void a_function_has_its_name_file_and_lines(void **state)
{
	struct v8_memory *v = *state;
	struct lang_function f;

	v8_memory_seal(v);
	f = read_function(v, v->outer, v8_memory_cookie(v, v->outer), 0);
	assert_string_equal(f.name, "outer");
	assert_string_equal(f.file, "/srv/app.js");
	assert_int_equal(f.first_line, 3);
	assert_int_equal(v8_line(&f, V8_OUTER_START), 3);
	assert_int_equal(v8_line(&f, V8_OUTER_CALL), 4);
	assert_int_equal(v8_line(&f, V8_POSITION_NONE), 0);
	assert_int_equal(v8_column(&f, V8_OUTER_START), 11);
	assert_int_equal(v8_column(&f, V8_OUTER_CALL), 3);
	assert_int_equal(v8_column(&f, V8_POSITION_NONE), 0);
	free_function(&f);
}

static void uses_line_ends_of_v8(void **state)
{
	struct v8_memory *v = *state;
	const uint64_t ends[] = { 10ULL << 32, 30ULL << 32, 40ULL << 32, 80ULL << 32 };
	uint64_t array = v8_memory_bytes(v, ends, sizeof(ends));
	struct lang_function f;

	memory_put(&v->m, array + 8, 4ULL << 32);
	memory_put(&v->m, v->script + 56, array | 1);
	v8_memory_seal(v);
	f = read_function(v, v->outer, v8_memory_cookie(v, v->outer), 0);
	assert_int_equal(f.first_line, 2);
	assert_int_equal(v8_line(&f, V8_OUTER_CALL), 3);
	assert_int_equal(v8_line(&f, 41), 4);
	assert_int_equal(v8_column(&f, V8_OUTER_CALL), 5);
	assert_int_equal(v8_column(&f, 41), 1);
	free_function(&f);
}

static void a_script_may_begin_at_a_later_line(void **state)
{
	struct v8_memory *v = *state;
	struct lang_function f;

	memory_put(&v->m, v->script + 24, 100ULL << 32);
	v8_memory_seal(v);
	f = read_function(v, v->inner, v8_memory_cookie(v, v->inner), 0);
	assert_int_equal(v8_line(&f, V8_INNER_CALL), 107);
	free_function(&f);
}

static void a_script_may_begin_within_a_line(void **state)
{
	struct v8_memory *v = *state;
	uint64_t first = v8_memory_function(v, v8_memory_string(v, "first"), 0, 4, 40);
	struct lang_function f;

	memory_put(&v->m, v->script + 24, 100ULL << 32);
	memory_put(&v->m, v->script + 32, 60ULL << 32);
	v8_memory_seal(v);
	f = read_function(v, first, v8_memory_cookie(v, first), 0);
	assert_int_equal(v8_line(&f, 5), 101);
	assert_int_equal(v8_column(&f, 5), 66);
	assert_int_equal(v8_line(&f, V8_OUTER_CALL), 104);
	assert_int_equal(v8_column(&f, V8_OUTER_CALL), 3);
	free_function(&f);
}

static void names_functions_like_the_debugger(void **state)
{
	struct v8_memory *v = *state;

	assert_name(v, v8_memory_string(v, "run"), v8_memory_string(v, "Task.run"), "Task.run");
	assert_name(v, v8_memory_string(v, "run"), v8_memory_string(v, "Task.rerun"), "run");
	assert_name(v, v8_memory_string(v, ""), v8_memory_string(v, "exports.go"), "exports.go");
	assert_name(v, 0, 0, "(anonymous app.js:6)");
}

static void a_name_may_be_any_form_of_string(void **state)
{
	struct v8_memory *v = *state;
	const uint16_t wide[] = { 'd', 0xe9, 'j', 0xe0, 0x20ac, 0xd800, 7 };
	uint64_t left = v8_memory_string(v, "left"), right = v8_memory_string(v, ".right");
	uint64_t cons = v8_memory_cons(v, left, right, 10);
	uint64_t flat = v8_memory_cons(v, left, v8_memory_string(v, ""), 4);

	assert_name(v, v8_memory_wide_string(v, wide, 7), 0, "d\xc3\xa9j\xc3\xa0\xe2\x82\xac??");
	assert_name(v, cons, 0, "left.right");
	assert_name(v, v8_memory_cons(v, cons, flat, 14), 0, "left.rightleft");
}

static void a_string_that_contains_itself_ends(void **state)
{
	struct v8_memory *v = *state;
	uint64_t cons = v8_memory_cons(v, v->script, v->script, 10);
	uint64_t shared = v8_memory_function(v, cons, 0, 1, 2);
	struct lang_function f;

	memory_put(&v->m, cons + 16, cons | 1);
	memory_put(&v->m, cons + 24, cons | 1);
	v8_memory_seal(v);
	f = read_function(v, shared, v8_memory_cookie(v, shared), -ESTALE);
	free_function(&f);
}

static void a_function_that_moved_is_stale(void **state)
{
	struct v8_memory *v = *state;
	struct lang_function f;

	v8_memory_seal(v);
	f = read_function(v, v->outer, v8_memory_cookie(v, v->inner), -ESTALE);
	free_function(&f);
	f = read_function(v, v->script, v8_memory_cookie(v, v->script), -ESTALE);
	free_function(&f);
	f = read_function(v, 1ULL << 40, 1, -ESTALE);
	free_function(&f);
}

/* ---- classes -------------------------------------------------------------------- */

/* Checks the classes of the methods in a text, in the order of the text. */
static void assert_classes(const char *text, const char *expected)
{
	struct v8_method *methods = NULL;
	char all[256] = "";
	size_t n = 0, len;

	assert_int_equal(v8_find_methods(text, (uint32_t)strlen(text), 1, &methods, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(text[methods[i].at], '(');
		len = strlen(all);
		snprintf(all + len, sizeof(all) - len, "%s%.*s", i ? " " : "",
			 (int)methods[i].n_class, text + methods[i].class);
	}
	free(methods);
	assert_string_equal(all, expected);
}

static void finds_methods_in_the_text(void **state)
{
	(void)state;
	assert_classes("class A { m() { f(); } static s(x) {} }", "A A");
	assert_classes("class A extends (class B { b() {} }) { a() {} }", "B A");
	assert_classes("class A extends f({}) { a() { class C { c() {} } } b() {} }", "A C A");
	assert_classes("const D = class { d() {} }, E = class extends D { e() {} };", "D E");
	assert_classes("x.class = { y() {} }; function class_() {} ({ class: 1 })", "");
	assert_classes("if (a == class {  m() {} }) {}", "");
	assert_classes("class \xe9t\xe9 { m() {} }", "\xe9t\xe9");
}

static void ignores_quoted_text(void **state)
{
	(void)state;
	assert_classes("'class A {'; \"\\\"}\"; /}[/}]{/.test(x); class B { m() {} }", "B");
	assert_classes("// class A {\n/* { */ class B { m() {} }", "B");
	assert_classes("`class A { m() ${ { a: `}` } } ${`{`}`; class B { m() { a / b } n() {} }",
		       "B B");
	assert_classes("class B { m() { return a++ / 2 } n() { return /[/}]/ } o() {} }", "B B B");
}

static void scans_any_text_to_its_end(void **state)
{
	static char braces[10000];

	(void)state;
	assert_classes("", "");
	assert_classes("class", "");
	assert_classes("class A", "");
	assert_classes("class A { m(", "A");
	assert_classes("}}}) class A { m() {} }", "A");
	assert_classes("'", "");
	assert_classes("`${", "");
	assert_classes("/*", "");
	memset(braces, '{', sizeof(braces) - 1);
	assert_classes(braces, "");
}

static void a_method_has_its_class(void **state)
{
	struct v8_memory *v = *state;
	uint64_t name = v8_memory_string(v, "sum"), shared;
	struct lang_function f;

	memory_put(&v->m, v->script + 8,
		   v8_memory_string(v, "class Total { sum() { } Total() { } }") | 1);
	shared = v8_memory_function(v, name, 0, 17, 20);
	v8_memory_seal(v);
	f = read_function(v, shared, v8_memory_cookie(v, shared), 0);
	assert_string_equal(f.name, "Total.sum");
	free_function(&f);
}

static void stores_the_lines_of_a_script(void **state)
{
	struct v8_memory *v = *state;
	struct lang_function f;
	int r = lang_memo_new(&v->m.process.memo);

	assert_int_equal(r, 0);
	v8_memory_seal(v);
	f = read_function(v, v->outer, v8_memory_cookie(v, v->outer), 0);
	free_function(&f);
	/* Overwrite the text: it must not be read again. */
	for (size_t i = 0; i < v->m.len; i++)
		if (v->m.bytes[i] == '\n')
			v->m.bytes[i] = ' ';
	f = read_function(v, v->inner, v8_memory_cookie(v, v->inner), 0);
	assert_int_equal(f.first_line, 6);
	free_function(&f);
	lang_memo_free(v->m.process.memo);
}

/* ---- frames ---------------------------------------------------------------------- */

static int expand(struct v8_memory *v, const uint64_t words[2], struct lang_call *out)
{
	return v8_expand(&v->m.tables, 1, &v->m.process, words, out);
}

static void byte_code_has_its_place(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	v8_memory_seal(v);
	v8_memory_bytecode_frame(v, v->outer, 2, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].addr, v->outer);
	assert_int_equal(calls[0].place, V8_OUTER_START);
	v8_memory_bytecode_frame(v, v->outer, 6, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].place, V8_OUTER_CALL);
	v8_memory_bytecode_frame(v, v->outer, V8_PLACE_NONE, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].place, V8_POSITION_NONE);
}

static void an_inlined_function_is_a_frame_of_its_own(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	v8_memory_seal(v);
	v8_memory_code_frame(v, V8_CODE_PLACE, false, words);
	assert_int_equal(expand(v, words, calls), 2);
	assert_int_equal(calls[0].addr, v->inner);
	assert_int_equal(calls[0].place, V8_INNER_CALL);
	assert_int_equal(calls[0].cookie, v8_memory_cookie(v, v->inner));
	assert_int_equal(calls[1].addr, v->outer);
	assert_int_equal(calls[1].place, V8_OUTER_CALL);
	/* a pc after it, where the outer function continues */
	v8_memory_code_frame(v, V8_CODE_PLACE + 0x10, false, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].addr, v->outer);
	assert_int_equal(calls[0].place, V8_OUTER_CALL);
}

static void reports_the_function_of_freed_code(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	v8_memory_seal(v);
	memory_put(&v->m, V8_CODE_AT - 16, 0);
	v8_memory_code_frame(v, V8_CODE_PLACE, false, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].addr, v->outer);
	assert_int_equal(calls[0].place, V8_POSITION_NONE);
}

static void rejects_code_of_another_function(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	v8_memory_seal(v);
	words[0] = VM_FRAME_WORD(V8_CODE, 1, V8_CODE_AT + V8_CODE_PLACE);
	words[1] = V8_CODE_WORD(v->inner, 0, v8_memory_cookie(v, v->inner));
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].addr, v->inner);
	assert_int_equal(calls[0].place, V8_POSITION_NONE);
}

static void omits_an_invalid_inlining(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	/* The inlining claims to be inlined in itself. */
	v8_memory_seal(v);
	for (size_t at = 0; at + 16 < V8_CODE_AT - MEMORY_AT; at += 8) {
		uint64_t inlining[2] = { (V8_OUTER_CALL + 1) << 1, 0 };

		if (!memcmp(v->m.bytes + at, inlining, sizeof(inlining)))
			memory_put(&v->m, MEMORY_AT + at, 1ULL << 31 | 2);
	}
	v8_memory_code_frame(v, V8_CODE_PLACE, false, words);
	assert_int_equal(expand(v, words, calls), 1);
	assert_int_equal(calls[0].addr, v->outer);
	assert_int_equal(calls[0].place, V8_POSITION_NONE);
}

static void assert_builtin(struct v8_memory *v, uint32_t n, const char *expected)
{
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2] = { VM_FRAME_WORD(V8_BUILTIN, 1, V8_BLOB_OFF + n * 32 + 5),
			      VM_PLACE_WORD(V8_PLACE_NONE, 1) };
	struct lang_function f;

	assert_int_equal(expand(v, words, calls), 1);
	f = read_function(v, calls[0].addr, calls[0].cookie, 0);
	assert_string_equal(f.name, expected);
	free_function(&f);
}

static void builtins_have_names(void **state)
{
	struct v8_memory *v = *state;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2] = { VM_FRAME_WORD(V8_BUILTIN, 1, V8_BLOB_OFF + 2 * 32),
			      VM_PLACE_WORD(V8_PLACE_NONE, 1) };

	v8_memory_seal(v);
	assert_builtin(v, 1, "[builtin: ArrayMap]");
	assert_builtin(v, 2, "[builtin: AddHandler]");
	assert_builtin(v, 3, "[builtin]");
	assert_builtin(v, 1000, "[builtin]");
	/* The interpreter's builtins are folded into the frame of the function. */
	v->m.codes[1].fold = true;
	assert_int_equal(expand(v, words, calls), 0);
	assert_builtin(v, 1, "[builtin: ArrayMap]");
}

/* ---- tables ----------------------------------------------------------------------- */

static void early_builtins_follow_their_metadata(void **state)
{
	/*
	 * four words of hashes; offset and length of two builtins; the code from the next 32
	 * bytes on
	 */
	static const uint32_t blob[] = { 1, 2, 3, 4, 0, 40, 64, 20, 0xcccccccc };
	struct v8_memory *v = *state;
	struct v8_vm *vm = &v->v8[1];
	uint8_t *table = memory_at(&v->m, MEMORY_AT + MEMORY_BYTES / 2);
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2] = { VM_FRAME_WORD(V8_BUILTIN, 1, V8_BLOB_OFF + 64 + 64),
			      VM_PLACE_WORD(V8_PLACE_NONE, 1) };
	struct lang_function f;

	v8_memory_seal(v);
	memcpy(table, blob, sizeof(blob));
	vm->major = 8;
	vm->blob_data = 0;
	vm->blob_code = MEMORY_AT + MEMORY_BYTES / 2;
	vm->blob_code_bytes = MEMORY_BYTES / 2;
	vm->blob_hi = vm->blob_lo + vm->blob_code_bytes;
	assert_int_equal(expand(v, words, calls), 1);
	f = read_function(v, calls[0].addr, calls[0].cookie, 0);
	assert_string_equal(f.name, "[builtin: ArrayMap]");
	free_function(&f);
}

static void uses_the_last_entry_up_to_an_offset(void **state)
{
	/* offset 0: 5; an expression at 3: 105; a statement at 203: 99 */
	static const uint8_t table[] = { 0, 10, 7, 0xc8, 0x01, 0x90, 0x03, 11 };
	int64_t p = 0;

	(void)state;
	assert_true(v8_position_at(V8_POSITIONS_FROM_START, table, sizeof(table), 2, &p));
	assert_int_equal(p, 5);
	assert_true(v8_position_at(V8_POSITIONS_FROM_START, table, sizeof(table), 3, &p));
	assert_int_equal(p, 105);
	assert_true(v8_position_at(V8_POSITIONS_FROM_START, table, sizeof(table), 202, &p));
	assert_int_equal(p, 105);
	assert_true(v8_position_at(V8_POSITIONS_FROM_START, table, sizeof(table), 203, &p));
	assert_int_equal(p, 99);
	assert_false(v8_position_at(V8_POSITIONS_FROM_START, table, 1, 0, &p));
	assert_false(v8_position_at(V8_POSITIONS_FROM_START, NULL, 0, 0, &p));
	/* No entry is at or before the offset. */
	assert_false(v8_position_at(V8_POSITIONS_FROM_START, table + 2, 3, 2, &p));
}

static void later_tables_start_before_the_code(void **state)
{
	/* offset 2: 5; an expression at 5: 105; 12: 104 */
	static const uint8_t signs[] = { 6, 10, 7, 0xc8, 0x01, 14, 1 };
	static const uint8_t flags[] = { 14, 10, 12, 0xc8, 0x01, 29, 1 };
	const struct {
		enum v8_positions form;
		const uint8_t *table;
	} each[] = { { V8_POSITIONS_FROM_ENTRY, signs }, { V8_POSITIONS_FLAGGED, flags } };
	int64_t p = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_false(v8_position_at(each[i].form, each[i].table, 7, 1, &p));
		assert_true(v8_position_at(each[i].form, each[i].table, 7, 2, &p));
		assert_int_equal(p, 5);
		assert_true(v8_position_at(each[i].form, each[i].table, 7, 5, &p));
		assert_int_equal(p, 105);
		assert_true(v8_position_at(each[i].form, each[i].table, 7, 11, &p));
		assert_int_equal(p, 105);
		assert_true(v8_position_at(each[i].form, each[i].table, 7, 12, &p));
		assert_int_equal(p, 104);
	}
}

static void rejects_an_unterminated_number(void **state)
{
	uint8_t table[32];
	int64_t p;

	(void)state;
	memset(table, 0xff, sizeof(table));
	assert_false(v8_position_at(V8_POSITIONS_FROM_START, table, sizeof(table), 100, &p));
}

static void counts_byte_codes_of_baseline_code(void **state)
{
	/* a prologue of 10 bytes, then byte codes of 4, 200 and 6 bytes */
	static const uint8_t table[] = { 10, 4, 0xc8, 0x01, 6 };
	uint32_t n = 99;

	(void)state;
	assert_true(v8_baseline_index(table, sizeof(table), 10, &n));
	assert_int_equal(n, 0);
	assert_true(v8_baseline_index(table, sizeof(table), 14, &n));
	assert_int_equal(n, 0);
	assert_true(v8_baseline_index(table, sizeof(table), 15, &n));
	assert_int_equal(n, 1);
	assert_true(v8_baseline_index(table, sizeof(table), 215, &n));
	assert_int_equal(n, 2);
	assert_false(v8_baseline_index(table, sizeof(table), 221, &n));
	assert_false(v8_baseline_index(table, 0, 1, &n));
}

static void prefixes_widen_byte_codes(void **state)
{
	/* six byte codes: four prefixes, one with an operand, one without */
	static const uint8_t sizes[] = { 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 5, 1 };
	static const uint8_t code[] = { 4, 0, 0, 4, 0, 0, 5, 1, 4, 0, 0, 0, 0, 5, 9 };
	uint32_t at = 99;

	(void)state;
	assert_true(v8_bytecode_at(code, sizeof(code), sizes, 6, 1, &at));
	assert_int_equal(at, 2);
	assert_true(v8_bytecode_at(code, sizeof(code), sizes, 6, 2, &at));
	assert_int_equal(at, 6);
	assert_true(v8_bytecode_at(code, sizeof(code), sizes, 6, 4, &at));
	assert_int_equal(at, 13);
	assert_false(v8_bytecode_at(code, sizeof(code), sizes, 6, 5,
				    &at)); /* there is no such byte code */
	assert_false(v8_bytecode_at(code, 1, sizes, 6, 1, &at));
}

int test_v8(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_function_has_its_name_file_and_lines,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(uses_line_ends_of_v8, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(a_script_may_begin_at_a_later_line, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(a_script_may_begin_within_a_line, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(names_functions_like_the_debugger, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(a_name_may_be_any_form_of_string, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(a_string_that_contains_itself_ends, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(a_function_that_moved_is_stale, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test(finds_methods_in_the_text),
		cmocka_unit_test(ignores_quoted_text),
		cmocka_unit_test(scans_any_text_to_its_end),
		cmocka_unit_test_setup_teardown(a_method_has_its_class, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(stores_the_lines_of_a_script, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(byte_code_has_its_place, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(an_inlined_function_is_a_frame_of_its_own,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(reports_the_function_of_freed_code, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(rejects_code_of_another_function, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(omits_an_invalid_inlining, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(builtins_have_names, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(early_builtins_follow_their_metadata,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test(uses_the_last_entry_up_to_an_offset),
		cmocka_unit_test(later_tables_start_before_the_code),
		cmocka_unit_test(rejects_an_unterminated_number),
		cmocka_unit_test(counts_byte_codes_of_baseline_code),
		cmocka_unit_test(prefixes_widen_byte_codes),
	};

	return TEST_RUN("test_v8", tests, NULL, NULL);
}
