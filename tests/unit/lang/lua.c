/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of every version of Lua in a synthetic process, and detection of the version and the
 * loop in a file.
 *
 * covers: src/lang/lua/call.c src/lang/lua/layout.c
 */
#include "lang/lua/lua.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_file.h"
#include "lang/by_caller.h"
#include "lang/find.h"
#include "memory.h"
#include "tests/test.h"

int test_lua(void);

extern const struct lang lua_lang;

enum { VM = 1, LINE = 12, LOOP = 0x200, IDENT = 0x80 };

/* The differences between versions in the code that the tests write. */
struct version {
	uint32_t number, release;
	uint32_t get_global, get_field, self, call, get_upvalue;
};

/* get_global is GETTABUP from 5.2 on. */
static const struct version versions[] = {
	{ 501, 5, 5, 6, 11, 28, 4 },   { 502, 4, 6, 7, 12, 29, 5 },   { 503, 6, 6, 7, 12, 36, 5 },
	{ 504, 4, 11, 14, 20, 68, 9 }, { 505, 1, 11, 14, 20, 68, 9 },
};

#define FOR_EACH_VERSION(v)                                                                        \
	for (const struct version *v = versions;                                                   \
	     v < versions + sizeof(versions) / sizeof(versions[0]); v++)

static struct memory m;
static struct lua_vm lua[2];
static struct lang_function f;

static void begin(const struct version *v)
{
	memory_init(&m, 11);
	m.tables.lua = lua;
	lua[VM] = *lua_layout(v->number, v->release);
}

static void forget(void)
{
	free(f.name);
	free(f.file);
	free(f.lines);
	f = (struct lang_function){ 0 };
}

static int read_function(uint64_t at, uint32_t place, uint32_t cookie)
{
	forget();
	f.place = place;
	return lua_read(&m.tables, VM, &m.process, at, cookie, &f);
}

/* Encodes an instruction; in Lua 5.1 to 5.3 a @c with a constant has bit 8. */
static uint32_t code(const struct version *v, uint32_t op, uint32_t a, uint32_t b, uint32_t c)
{
	return v->number < 504 ? op | a << 6 | b << 23 | c << 14 : op | a << 7 | b << 16 | c << 24;
}

/* Encodes an instruction that uses constant @c as a key. */
static uint32_t with_key(const struct version *v, uint32_t op, uint32_t a, uint32_t c)
{
	if (v->number == 501 && op == v->get_global)
		return op | a << 6 | c << 14;
	return code(v, op, a, 0, v->number < 504 ? c | 256 : c);
}

static void put_number(uint64_t at, uint32_t number)
{
	memcpy(memory_at(&m, at), &number, sizeof(number));
}

static void put_byte(uint64_t at, uint8_t byte)
{
	memcpy(memory_at(&m, at), &byte, sizeof(byte));
}

static uint64_t string(const char *text)
{
	size_t len = strlen(text);
	bool is_long = len > 40;
	uint64_t at = memory_add(&m, NULL, 48 + len + 1), to = at + 24;

	put_byte(at + LUA_TYPE, is_long ? LUA_STRING_LONG : 4);
	if (is_long || !lua[VM].string_short_len)
		memory_put(&m, at + 16, len);
	else
		put_byte(at + lua[VM].string_short_len, (uint8_t)len);
	if (is_long && lua[VM].string_is_external) {
		to = memory_add(&m, NULL, len + 1);
		memory_put(&m, at + 24, to);
	}
	memcpy(memory_at(&m, to), text, len);
	return at;
}

static uint64_t prototype(uint32_t line, const uint32_t *codes, uint32_t n, const char *file)
{
	uint64_t at = memory_add(&m, NULL, 128);

	put_byte(at + LUA_TYPE, lua[VM].proto_type);
	put_number(at + lua[VM].proto_n_code, n);
	put_number(at + lua[VM].proto_line, line);
	memory_put(&m, at + lua[VM].proto_code, memory_add(&m, codes, 4 * (size_t)n));
	memory_put(&m, at + lua[VM].proto_source, string(file));
	return at;
}

/*
 * Adds a function that calls a global, a field, a method, a local, an upvalue, a result and a
 * parameter.
 */
static uint64_t caller_of(const struct version *v)
{
	const uint32_t codes[] = {
		with_key(v, v->get_global, 2, 0),
		code(v, 1, 3, 0, 0),
		code(v, v->call, 2, 2, 1),
		with_key(v, v->get_field, 2, 2),
		code(v, v->call, 2, 2, 1),
		with_key(v, v->self, 2, 1),
		code(v, v->call, 2, 2, 1),
		code(v, 0, 2, 1, 0),
		code(v, v->call, 2, 1, 2),
		code(v, v->get_upvalue, 2, 1, 0),
		code(v, v->call, 2, 1, 2),
		code(v, v->call, 2, 1, 1),
		code(v, 0, 2, 0, 0),
		code(v, v->call, 2, 1, 1),
	};
	uint32_t n = sizeof(codes) / sizeof(codes[0]), each = lua[VM].upvalue_bytes;
	uint64_t at = prototype(0, codes, n, "@/srv/app.lua");
	uint64_t constants = memory_add(&m, NULL, 48), locals = memory_add(&m, NULL, 32);
	uint64_t upvalues = memory_add(&m, NULL, 2 * each);

	memory_put(&m, constants, string("hot"));
	memory_put(&m, constants + 16, string("act"));
	memory_put(&m, constants + 32, string("field"));
	memory_put(&m, at + lua[VM].proto_constants, constants);
	put_number(at + lua[VM].proto_n_constants, 3);
	memory_put(&m, locals, string("self"));
	memory_put(&m, locals + 8, (uint64_t)n << 32);
	memory_put(&m, locals + 16, string("job"));
	memory_put(&m, locals + 24, (uint64_t)n << 32 | 1);
	memory_put(&m, at + lua[VM].proto_locals, locals);
	put_number(at + lua[VM].proto_n_locals, 2);
	memory_put(&m, upvalues + each, string("captured"));
	memory_put(&m, at + lua[VM].proto_upvalues, upvalues);
	return at;
}

/* The name of @at if instruction @pc of @caller, which had @cookie (0: unknown), calls it. */
static const char *name_by(uint64_t at, uint64_t caller, uint32_t pc, uint32_t cookie)
{
	uint64_t words[2] = { VM_FRAME_WORD(0, VM, caller), (uint64_t)(pc + 1) << 32 };

	words[1] |= cookie;
	m.process.caller = words;
	assert_int_equal(read_function(at, 1, 0), 0);
	m.process.caller = NULL;
	return f.name;
}

static const char *name(uint64_t at, uint64_t caller, uint32_t pc)
{
	return name_by(at, caller, pc, 0);
}

static void functions_are_named_by_their_callers(void **state)
{
	FOR_EACH_VERSION(v)
	{
		uint64_t caller, at;

		begin(v);
		caller = caller_of(v);
		at = prototype(LINE, (uint32_t[]){ 0 }, 1, "@/srv/app.lua");
		assert_string_equal(name(at, caller, 2), "hot");
		assert_int_equal(f.doubt, BY_GLOBAL);
		assert_string_equal(name(at, caller, 4), "field");
		assert_int_equal(f.doubt, BY_FIELD);
		assert_string_equal(name(at, caller, 6), "act");
		assert_string_equal(name(at, caller, 8), "job");
		assert_int_equal(f.doubt, BY_LOCAL);
		assert_string_equal(name(at, caller, 10), "captured");
		assert_int_equal(f.doubt, BY_FIELD);
		/* a parameter */
		assert_string_equal(name(at, caller, 13), "<app.lua:12>");
		/* the result of a call, an instruction that does not call, and one that does not
		 * exist */
		assert_string_equal(name(at, caller, 11), "<app.lua:12>");
		assert_int_equal(f.doubt, BY_LOCATION);
		assert_string_equal(name(at, caller, 5), "<app.lua:12>");
		assert_string_equal(name(at, caller, 800), "<app.lua:12>");
		assert_string_equal(name(at, 0x123456789000, 2), "<app.lua:12>");
		assert_string_equal(name(caller, caller, 2), "<app.lua>");
		assert_string_equal(f.file, "/srv/app.lua");
	}
	forget();
}

static uint64_t pointer_at(uint64_t at)
{
	uint64_t p;

	assert_int_equal(m.process.read(m.process.ctx, at, &p, sizeof(p)), 0);
	return p;
}

static void freed_names_are_not_used(void **state)
{
	FOR_EACH_VERSION(v)
	{
		uint64_t caller, at, job;

		begin(v);
		caller = caller_of(v);
		at = prototype(LINE, (uint32_t[]){ 0 }, 1, "@/srv/app.lua");
		job = pointer_at(pointer_at(caller + lua[VM].proto_locals) + 16) + 24;
		put_byte(job + 2, 0xc0);
		assert_string_equal(name(at, caller, 8), "<app.lua:12>");
		memcpy(memory_at(&m, job), "104", 3);
		assert_string_equal(name(at, caller, 8), "<app.lua:12>");
	}
	forget();
}

static void a_replaced_caller_names_nothing(void **state)
{
	FOR_EACH_VERSION(v)
	{
		struct lua_proto proto;
		uint64_t caller, at;
		uint32_t cookie;

		begin(v);
		caller = caller_of(v);
		at = prototype(LINE, (uint32_t[]){ 0 }, 1, "@/srv/app.lua");
		assert_int_equal(lua_read_proto(&lua[VM], &m.process, caller, &proto), 0);
		cookie = lang_cookie(proto.cookie);
		assert_string_equal(name_by(at, caller, 2, cookie), "hot");
		assert_string_equal(name_by(at, caller, 2, cookie ^ 2), "<app.lua:12>");
	}
	forget();
}

/* In Lua 5.1, moves to register 0 after the creation of a closure list what it captures. */
static void captures_of_a_closure_fill_no_register(void **state)
{
	const struct version *v = &versions[0];
	uint64_t caller, constants, locals;

	begin(v);
	caller = prototype(0,
			   (uint32_t[]){ with_key(v, v->get_global, 0, 0), code(v, 36, 1, 0, 0),
					 code(v, 0, 0, 1, 0), code(v, v->get_upvalue, 0, 0, 0),
					 code(v, v->call, 0, 2, 1) },
			   5, "@a.lua");
	constants = memory_add(&m, NULL, 16);
	memory_put(&m, constants, string("sort"));
	memory_put(&m, caller + lua[VM].proto_constants, constants);
	put_number(caller + lua[VM].proto_n_constants, 1);
	locals = memory_add(&m, NULL, 32);
	memory_put(&m, locals, string("x"));
	memory_put(&m, caller + lua[VM].proto_locals, locals);
	assert_string_equal(name(prototype(LINE, (uint32_t[]){ 0 }, 1, "@a.lua"), caller, 4),
			    "sort");
	forget();
}

static void instructions_have_lines(void **state)
{
	static const int8_t steps[] = { 1, 0, 2, -128, 1 };
	static const uint32_t lines[] = { 13, 13, 15, 900, 901 };

	FOR_EACH_VERSION(v)
	{
		bool has_steps = v->number >= 504;
		uint64_t at, marks;

		begin(v);
		at = prototype(LINE, (uint32_t[5]){ 0 }, 5, "@a.lua");
		put_number(at + lua[VM].proto_n_lines, 5);
		memory_put(&m, at + lua[VM].proto_lines,
			   has_steps ? memory_add(&m, steps, sizeof(steps))
				     : memory_add(&m, lines, sizeof(lines)));
		if (has_steps) {
			marks = memory_add(&m, NULL, 8);
			memory_put(&m, marks, 3 | 900ULL << 32);
			memory_put(&m, at + lua[VM].proto_marks, marks);
			put_number(at + lua[VM].proto_n_marks, 1);
		}
		assert_int_equal(read_function(at, 1, 0), 0);
		for (uint32_t i = 0; i < 5; i++)
			assert_int_equal(lua_lang.line(&f, i + 1), lines[i]);
		assert_int_equal(lua_lang.line(&f, 6), LINE);
	}
	forget();
}

/* Files and sources of more than 40 characters are long strings. */
static void long_file_names_are_complete(void **state)
{
	static const char path[] = "/srv/a/path/of/many/characters/and/of/few/files/app.lua";
	char source[sizeof(path) + 1];

	snprintf(source, sizeof(source), "@%s", path);
	FOR_EACH_VERSION(v)
	{
		begin(v);
		assert_int_equal(read_function(prototype(LINE, (uint32_t[]){ 0 }, 1, source), 1, 0),
				 0);
		assert_string_equal(f.file, path);
	}
	forget();
}

static void an_object_that_is_not_a_prototype_is_stale(void **state)
{
	FOR_EACH_VERSION(v)
	{
		begin(v);
		assert_int_equal(read_function(string("x"), 1, 0), -ESTALE);
		assert_int_equal(read_function(caller_of(v), 1, 77), -ESTALE);
		assert_int_equal(read_function(0x1000, LUA_PLACE_C, 77), 0);
		assert_string_equal(f.name, "[C function]");
	}
	forget();
}

/* Garbage collection links prototypes, and Lua 5.2 and 5.3 cache a closure in them. */
static void the_collector_does_not_change_the_cookie(void **state)
{
	FOR_EACH_VERSION(v)
	{
		struct lua_proto before, after;
		uint64_t at;

		begin(v);
		at = caller_of(v);
		assert_int_equal(lua_read_proto(&lua[VM], &m.process, at, &before), 0);
		memory_put(&m, at, 0x1234560);
		if (v->number == 502 || v->number == 503)
			memory_put(&m, at + (v->number == 502 ? 64 : 96), 0x1234560);
		if (v->number < 504)
			memory_put(&m, at + (v->number == 501 ? 104 : 112), 0x1234560);
		assert_int_equal(lua_read_proto(&lua[VM], &m.process, at, &after), 0);
		assert_true(before.cookie == after.cookie);
		memory_put(&m, at + lua[VM].proto_code, 0x1234560);
		assert_int_equal(lua_read_proto(&lua[VM], &m.process, at, &after), 0);
		assert_false(before.cookie == after.cookie);
	}
	forget();
}

/* ---- detection ---- */

/* A file of the release in @ident; its loop jumps by what `and $@mask,%eax` leaves. */
static int detect(struct code_file *file, const char *ident, char mask, struct lang_detected *d)
{
	const char dispatch[] = { (char)0x83, (char)0xe0, mask, (char)0xff, (char)0xe0 };

	memory_init(&m, 11);
	m.tables.lua = lua;
	memset(lua, 0, sizeof(lua));
	*d = (struct lang_detected){ 0 };
	file->n_syms = 0;
	code_file_symbol(file, "lua_ident", DATA_AT + IDENT, 60);
	snprintf((char *)file->data + IDENT, 60, "%s  Copyright", ident);
	(void)code_file_bytes(file, LOOP + 0x20, dispatch, sizeof(dispatch));
	return lua_detect(code_file_open(file), &m.tables, VM, d);
}

static void versions_are_detected_with_their_loop(void **state)
{
	static const struct {
		const char *ident, *version, *problem;
		uint32_t number;
		char mask;
		int result;
	} cases[] = {
		{ "$Lua: Lua 5.1.5", "5.1", NULL, 501, 0x3f, 0 },
		{ "$LuaVersion: Lua 5.3.6", "5.3", NULL, 503, 0x3f, 0 },
		{ "$LuaVersion: Lua 5.5.1", "5.5", NULL, 505, 0x7f, 0 },
		{ "$LuaVersion: Lua 5.4.6", "5.4", LANG_NO_LOOP, 0, 0x3f, -ENOTSUP },
		{ "$LuaVersion: Lua 5.2.4", "5.2", LANG_NO_LOOP, 0, 0x7f, -ENOTSUP },
		{ "$LuaVersion: Lua 5.4.1", "5.4.1", NULL, 0, 0x7f, -ENOTSUP },
		{ "$LuaVersion: Lua 5.6.0", "5.6.0", NULL, 0, 0x7f, -ENOTSUP },
		{ "$LuaVersion: Lisp", "", NULL, 0, 0x7f, -ENOENT },
	};
	struct code_file *file = *state;
	struct lang_detected d;

	code_file_function(file, 0, CODE_FILE_BYTES);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(detect(file, cases[i].ident, cases[i].mask, &d), cases[i].result);
		assert_string_equal(d.version, cases[i].version);
		assert_int_equal(lua[VM].version, cases[i].number);
		assert_true(d.problem == cases[i].problem || !strcmp(d.problem, cases[i].problem));
	}
}

/* A small function that dispatches is another one, such as the check of a program's code. */
static void a_small_function_is_not_the_loop(void **state)
{
	struct code_file *file = *state;
	struct lang_detected d;

	code_file_function(file, 0, 0x100);
	code_file_function(file, LOOP, 0x600);
	assert_int_equal(detect(file, "$Lua: Lua 5.1.5", 0x3f, &d), -ENOTSUP);
	assert_string_equal(d.problem, LANG_NO_LOOP);
}

static void releases_with_another_layout_are_not_supported(void **state)
{
	static const struct {
		uint32_t version, release;
		bool supported;
	} releases[] = {
		{ 501, 0, true },  { 502, 0, false }, { 502, 1, true }, { 503, 1, false },
		{ 503, 2, true },  { 504, 1, false }, { 504, 2, true }, { 505, 0, true },
		{ 500, 3, false }, { 506, 0, false },
	};

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		const struct lua_vm *found = lua_layout(releases[i].version, releases[i].release);

		assert_int_equal(found != NULL, releases[i].supported);
		assert_true(!found || found->version == releases[i].version);
	}
}

/* clang-format off */
TEST_GROUP(test_lua,
	   TEST(functions_are_named_by_their_callers),
	   TEST(a_replaced_caller_names_nothing),
	   TEST(freed_names_are_not_used),
	   TEST(captures_of_a_closure_fill_no_register),
	   TEST(instructions_have_lines),
	   TEST(long_file_names_are_complete),
	   TEST(an_object_that_is_not_a_prototype_is_stale),
	   TEST(the_collector_does_not_change_the_cookie),
	   TEST(releases_with_another_layout_are_not_supported),
	   CODE_TEST(versions_are_detected_with_their_loop),
	   CODE_TEST(a_small_function_is_not_the_loop))
