/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes of versions that do not exist are detected, and reported once a sample hits them.
 *
 * covers: src/lang/python/detect.c
 */
#include "lang/runtime.h"

#include <stdio.h>

#include "code_file.h"
#include "lang/lang.h"
#include "memory.h"
#include "tests/test.h"

enum { LOOP = 0x200, LOOP_BYTES = 0x100, OTHER = 0x800, IDENT = 0x80 };

struct world {
	struct memory m;
	struct langs *l;
	struct lang_file file;
};

static struct world *detected(struct code_file *f)
{
	static struct world w;

	langs_free(w.l);
	memory_init(&w.m, 11);
	assert_int_equal(langs_new(&w.l, &w.m.tables, true), 0);
	langs_detect(w.l, code_file_open(f), -1, &w.file);
	return &w;
}

/* The only runtime that a warning would be about after a sample at CODE_AT + @at. */
static const struct lang_runtime *hit(struct world *w, struct code_file *f, uint64_t at)
{
	uint64_t off;

	assert_int_equal(elf_image_offset_of(code_file_open(f), CODE_AT + at, &off), 0);
	langs_note_sample(w->l, &w->file, off, "/usr/lib/runtime.so");
	assert_null(lang_runtimes_unsupported(langs_runtimes(w->l), 1));
	return lang_runtimes_unsupported(langs_runtimes(w->l), 0);
}

/* Expects a warning of a sample in the loop of @f, and none of a sample outside. */
static void check(struct code_file *f, const char *name, const char *version, const char *problem)
{
	struct world *w = detected(f);
	const struct lang_runtime *r;

	assert_int_equal(w->file.vm, 0);
	assert_int_not_equal(w->file.runtime, 0);
	assert_null(hit(w, f, OTHER));
	r = hit(w, f, LOOP + 8);
	assert_non_null(r);
	assert_string_equal(r->name, name);
	assert_string_equal(r->version, version);
	assert_string_equal(r->problem, problem);
	assert_string_equal(r->path, "/usr/lib/runtime.so");
	assert_non_null(r->effect);
}

static void put_loop(struct code_file *f, const char *name)
{
	memset(f->code + LOOP, 0x90, LOOP_BYTES);
	code_file_function(f, LOOP, LOOP_BYTES);
	code_file_function(f, OTHER, 0x100);
	if (name)
		code_file_symbol(f, name, CODE_AT + LOOP, LOOP_BYTES);
}

static void python_from_the_future(void **state)
{
	struct code_file *f = *state;
	const uint32_t version = 0x036300f0; /* 3.99.0 */

	put_loop(f, "_PyEval_EvalFrameDefault");
	code_file_symbol(f, "_PyRuntime", DATA_AT + 0x100, 64);
	code_file_symbol(f, "Py_Version", DATA_AT + 8, 4);
	memcpy(f->data + 8, &version, sizeof(version));
	check(f, "Python", "3.99", "unknown version");
}

static void python_with_another_table_of_offsets(void **state)
{
	struct code_file *f = *state;
	const uint32_t version = 0x030e00f0; /* 3.14.0 */

	put_loop(f, "_PyEval_EvalFrameDefault");
	code_file_symbol(f, "_PyRuntime", DATA_AT + 0x100, 64);
	code_file_symbol(f, "Py_Version", DATA_AT + 8, 4);
	memcpy(f->data + 8, &version, sizeof(version));
	check(f, "Python", "3.14", "its table of offsets was not recognized");
}

static void old_python(void **state)
{
	struct code_file *f = *state;

	put_loop(f, "PyEval_EvalFrameEx");
	check(f, "Python", "before 3.6", "too old");
}

static void perl_from_the_future(void **state)
{
	struct code_file *f = *state;

	put_loop(f, "Perl_runops_standard");
	code_file_symbol(f, "PL_revision", DATA_AT, 1);
	code_file_symbol(f, "PL_version", DATA_AT + 1, 1);
	code_file_symbol(f, "PL_curcop", DATA_AT + 0x100, 8);
	code_file_symbol(f, "PL_curstackinfo", DATA_AT + 0x108, 8);
	f->data[0] = 5;
	f->data[1] = 98;
	check(f, "Perl", "5.98", "unknown version");
}

static void php_from_the_future(void **state)
{
	struct code_file *f = *state;

	put_loop(f, "execute_ex");
	memcpy(f->data, "X-Powered-By: PHP/9.7.0", 24);
	check(f, "PHP", "9.7", "unknown version");
}

static void lua_without_its_loop(void **state)
{
	struct code_file *f = *state;
	struct world *w;

	code_file_function(f, OTHER, 0x100);
	code_file_symbol(f, "lua_ident", DATA_AT + IDENT, 60);
	snprintf((char *)f->data + IDENT, 60, "$LuaVersion: Lua 5.4.9  Copyright");
	w = detected(f);
	/* any code can be the loop */
	assert_string_equal(hit(w, f, OTHER)->problem, "its interpreter loop was not found");
}

/* A program that links with it and does not run Lua never is in the function with the jumps. */
static void luajit(void **state)
{
	struct code_file *f = *state;
	uint32_t at = LOOP;

	put_loop(f, NULL);
	code_file_symbol(f, "luaJIT_setmode", CODE_AT + OTHER, 16);
	for (int i = 0; i < 20; i++)
		at = BYTES(f, at, "\x41\xff\x24\xee"); /* jmp *(%r14,%rbp,8) */
	check(f, "LuaJIT", "", "its references have 32 bits");
}

static void v8_without_its_layout(void **state)
{
	struct code_file *f = *state;
	static const char *const names[] = { "major", "minor", "build", "patch" };
	static char symbols[4][40];
	uint8_t numbers[] = { 99, 3, 0, 0 };
	struct world *w;

	put_loop(f, "_ZN2v87Isolate10GetCurrentEv");
	for (int i = 0; i < 4; i++) {
		snprintf(symbols[i], sizeof(symbols[i]), "_ZN2v88internal7Version6%s_E", names[i]);
		code_file_symbol(f, symbols[i], DATA_AT + 8 + 4 * i, 4);
		f->data[8 + 4 * i] = numbers[i];
	}
	w = detected(f);
	assert_string_equal(hit(w, f, OTHER)->version, "99.3");
}

static void a_file_without_a_runtime_is_never_hit(void **state)
{
	struct code_file *f = *state;
	struct world *w;

	put_loop(f, "some_function");
	w = detected(f);
	assert_int_equal(w->file.runtime, 0);
	assert_null(hit(w, f, LOOP + 8));
}

static void the_number_of_runtimes_is_bounded(void **state)
{
	static struct lang_runtimes r;
	char version[16];

	for (int i = 0; i < 200; i++) {
		snprintf(version, sizeof(version), "3.%d", i);
		(void)lang_runtimes_add(&r, "Python", version, NULL, "");
	}
	assert_int_equal(r.n, LANG_RUNTIMES_MAX - LANG_UNSUPPORTED_MAX);
	for (int i = 0; i < 200; i++) {
		snprintf(version, sizeof(version), "3.%d", i);
		lang_runtimes_note(&r, lang_runtimes_add(&r, "Python", version, "new", ""), "/p");
	}
	assert_int_equal(r.n, LANG_RUNTIMES_MAX);
	assert_non_null(lang_runtimes_unsupported(&r, LANG_UNSUPPORTED_MAX - 1));
	assert_null(lang_runtimes_unsupported(&r, LANG_UNSUPPORTED_MAX));
	assert_int_equal(lang_runtimes_add(&r, "Python", "3.2", NULL, ""), 3); /* not twice */
	lang_runtimes_note(&r, 0, "/p");
	lang_runtimes_note(&r, 255, "/p");
}

TEST_GROUP(test_runtime, CODE_TEST(python_from_the_future),
	   CODE_TEST(python_with_another_table_of_offsets), CODE_TEST(old_python),
	   CODE_TEST(perl_from_the_future), CODE_TEST(php_from_the_future),
	   CODE_TEST(lua_without_its_loop), CODE_TEST(luajit), CODE_TEST(v8_without_its_layout),
	   CODE_TEST(a_file_without_a_runtime_is_never_hit),
	   TEST(the_number_of_runtimes_is_bounded))
