/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of LuaJIT in a synthetic process.
 *
 * covers: src/lang/luajit/call.c src/lang/luajit/proto.c src/lang/luajit/symbolize.c
 *         src/lang/luajit/trace.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/by_caller.h"
#include "lang/luajit/luajit.h"
#include "memory.h"
#include "tests/test.h"

int test_luajit(void);

/* Instructions: the opcode in the low byte, then A, then D (or C and B). */
#define AD(op, a, d) ((uint32_t)(op) | (uint32_t)(a) << 8 | (uint32_t)(d) << 16)

enum {
	MOV = 18,
	KNIL = 44,
	UGET = 45,
	GGET = 54,
	TGETS = 57,
	CALL = 66,
	ITERC = 69,
	FUNCF = 89,
	CODES = 8,
	CALL_AT = 7, /* the instruction whose name is searched */
	LINE = 40,
	IR_BIAS = 0x8000,
};

/* A function with the parameter `given` in slot 0 and the local variables `visible` in slot 1
 * nearly everywhere and `late` in slot 2 at the end. */
static const char variables[] = "given\0\x00\x10visible\0\x01\x0flate\0\x05\x0a";
static const char upvalues[] = "first\0second";

static struct memory m;

static uint64_t string(const char *text)
{
	uint64_t at = memory_add(&m, NULL, 24);

	memory_add(&m, text, strlen(text) + 1);
	memory_put(&m, at + 8, LUAJIT_STRING << 8);
	memory_put(&m, at + 16, (uint64_t)strlen(text) << 32);
	return at;
}

/* Adds a prototype of a function in dir/a.lua. Returns its address. */
static uint64_t prototype(const uint32_t codes[CODES], uint32_t line)
{
	uint64_t constants = memory_add(&m, NULL, 16), at, lines, vars, ups;
	uint8_t steps[CODES] = { 0, 1, 2, 3, 4, 5, 6 };

	memory_put(&m, constants, string("constant one"));
	memory_put(&m, constants + 8, string("constant zero"));
	constants += 16;
	at = memory_add(&m, NULL, LUAJIT_PROTO_BYTES);
	memory_add(&m, codes, CODES * 4);
	lines = memory_add(&m, steps, sizeof(steps));
	ups = memory_add(&m, upvalues, sizeof(upvalues));
	vars = memory_add(&m, variables, sizeof(variables));
	memory_put(&m, at + 8, LUAJIT_PROTO << 8 | (uint64_t)CODES << 32);
	memory_put(&m, at + LUAJIT_PROTO_CONSTANTS, constants);
	memory_put(&m, at + 56, vars + sizeof(variables) + 8 - at);
	memory_put(&m, at + LUAJIT_PROTO_SOURCE, string("@dir/a.lua"));
	memory_put(&m, at + LUAJIT_PROTO_LINE, line | 20ULL << 32);
	memory_put(&m, at + LUAJIT_PROTO_LINES, lines);
	memory_put(&m, at + LUAJIT_PROTO_UPVALUES, ups);
	memory_put(&m, at + LUAJIT_PROTO_VARIABLES, vars);
	return at;
}

static uint32_t cookie_of(uint64_t proto)
{
	struct luajit_proto f;

	assert_int_equal(luajit_read_proto(&m.process, proto, &f), 0);
	return lang_cookie(luajit_proto_key(f.words));
}

static int setup(void **state)
{
	(void)state;
	memory_init(&m, 11);
	return 0;
}

/* Checks the name of the call at the end of @codes, and luajit_call_name()'s result. */
static void check_name(const uint32_t codes[CODES], const char *name, int result)
{
	struct luajit_proto f;
	char *got = NULL;
	int r;

	assert_int_equal(luajit_read_proto(&m.process, prototype(codes, LINE), &f), 0);
	r = luajit_call_name(&m.process, &f, CALL_AT, &got);
	assert_int_equal(r, result);
	if (name)
		assert_string_equal(got, name);
	free(got);
}

static void check_call(const uint32_t codes[CODES], const char *name)
{
	check_name(codes, name, name ? BY_GLOBAL : -ENOENT);
}

static void names_calls(void **state)
{
	const uint32_t global[CODES] = { FUNCF, [5] = AD(GGET, 5, 0), [7] = AD(CALL, 5, 0) };
	const uint32_t field[CODES] = { FUNCF, [5] = AD(TGETS, 5, 1), [7] = AD(CALL, 5, 0) };
	const uint32_t up[CODES] = { FUNCF, [5] = AD(UGET, 5, 1), [7] = AD(CALL, 5, 0) };
	const uint32_t local[CODES] = { FUNCF, [5] = AD(MOV, 5, 1), [7] = AD(CALL, 5, 0) };
	const uint32_t late[CODES] = { FUNCF, [7] = AD(CALL, 2, 0) };
	const uint32_t given[CODES] = {
		FUNCF, [1] = AD(GGET, 0, 0), [5] = AD(MOV, 5, 0), [7] = AD(CALL, 5, 0)
	};
	const uint32_t iterator[CODES] = { FUNCF, [5] = AD(GGET, 5, 0), [7] = AD(ITERC, 8, 0) };

	(void)state;
	check_call(global, "constant zero");
	check_name(field, "constant one", BY_FIELD);
	check_name(up, "second", BY_FIELD);
	check_name(local, "visible", BY_LOCAL);
	check_name(late, "late", BY_LOCAL);
	check_name(given, NULL, -ENODATA);
	check_call(iterator, "constant zero");
}

static void calls_without_a_name(void **state)
{
	const uint32_t result[CODES] = { FUNCF, [5] = AD(CALL, 4, 0), [7] = AD(CALL, 5, 0) };
	const uint32_t cleared[CODES] = {
		FUNCF, AD(GGET, 5, 0), [5] = AD(KNIL, 4, 6), [7] = AD(CALL, 5, 0)
	};
	const uint32_t none[CODES] = { FUNCF, [7] = AD(CALL, 9, 0) };
	const uint32_t other[CODES] = { FUNCF, [7] = AD(MOV, 5, 0) };
	const uint32_t constant[CODES] = { FUNCF, [5] = AD(GGET, 5, 60000), [7] = AD(CALL, 5, 0) };
	const uint32_t upvalue[CODES] = { FUNCF, [5] = AD(UGET, 5, 200), [7] = AD(CALL, 5, 0) };
	uint32_t circle[CODES] = { FUNCF };

	(void)state;
	check_call(result, NULL);
	check_call(cleared, NULL);
	check_call(none, NULL);
	check_call(other, NULL);
	check_call(constant, NULL);
	check_call(upvalue, NULL);
	for (uint32_t i = 1; i < CALL_AT; i++)
		circle[i] = AD(MOV, i & 1 ? 9 : 8, i & 1 ? 8 : 9);
	circle[CALL_AT] = AD(CALL, 8, 0);
	check_call(circle, NULL);
}

static void finds_the_prototype_of_an_instruction(void **state)
{
	const uint32_t codes[CODES] = { FUNCF, FUNCF + 1 };
	uint64_t at = prototype(codes, LINE), code = at + LUAJIT_PROTO_BYTES;
	struct luajit_proto f;

	(void)state;
	/* what precedes the first object can be read as well */
	assert_true(at > MEMORY_AT);
	memory_init(&m, 11);
	memory_add(&m, NULL, 2048);
	at = prototype(codes, LINE);
	code = at + LUAJIT_PROTO_BYTES;
	assert_int_equal(luajit_proto_of(&m.process, code + 4, &f), 0);
	assert_int_equal(f.at, at);
	assert_int_equal(luajit_proto_of(&m.process, code + 4 * CODES, &f), 0);
	assert_int_equal(f.at, at);
	/* after its code, and where nothing can be read */
	assert_int_not_equal(luajit_proto_of(&m.process, code + 4 * CODES + 4, &f), 0);
	assert_int_equal(luajit_proto_of(&m.process, 64, &f), -EFAULT);
}

/* Reads the function at @proto as a frame at @place; @caller may be NULL. */
static int read_frame(uint64_t proto, uint32_t cookie, uint32_t place, const uint64_t *caller,
		      struct lang_function *out)
{
	*out = (struct lang_function){ .place = place };
	m.process.caller = caller;
	return luajit_read(&m.tables, 1, &m.process, proto, cookie, out);
}

static void forget(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
}

static void reads_functions(void **state)
{
	const uint32_t codes[CODES] = { FUNCF, [5] = AD(GGET, 5, 0), [7] = AD(CALL, 5, 0) };
	uint64_t proto = prototype(codes, LINE), file = prototype(codes, 0);
	const uint64_t caller[2] = { VM_FRAME_WORD(0, 1, proto),
				     VM_PLACE_WORD(CALL_AT + 1, cookie_of(proto)) };
	const uint64_t replaced[2] = { caller[0], caller[1] ^ 2 };
	struct lang_function f;

	(void)state;
	assert_int_equal(read_frame(proto, cookie_of(proto), 3, caller, &f), 0);
	assert_string_equal(f.name, "constant zero");
	assert_string_equal(f.file, "dir/a.lua");
	assert_int_equal(f.first_line, LINE);
	assert_int_equal(luajit_line(&f, 0), LINE);
	assert_int_equal(luajit_line(&f, 1), LINE);
	assert_int_equal(luajit_line(&f, 4), LINE + 2);
	assert_int_equal(luajit_line(&f, CODES), LINE + 6);
	assert_int_equal(luajit_line(&f, CODES + 1), LINE);
	forget(&f);
	assert_int_equal(read_frame(proto, cookie_of(proto), 3, NULL, &f), 0);
	assert_string_equal(f.name, "<a.lua:40>");
	assert_int_equal(f.doubt, BY_LOCATION);
	forget(&f);
	assert_int_equal(read_frame(proto, cookie_of(proto), 3, replaced, &f), 0);
	assert_string_equal(f.name, "<a.lua:40>");
	forget(&f);
	assert_int_equal(read_frame(file, cookie_of(file), 3, caller, &f), 0);
	assert_string_equal(f.name, "<a.lua>");
	forget(&f);
	assert_int_equal(read_frame(1, 1, LUAJIT_PLACE_C, caller, &f), 0);
	assert_string_equal(f.name, "constant zero");
	forget(&f);
	assert_int_equal(read_frame(1, 1, LUAJIT_PLACE_C, NULL, &f), 0);
	assert_string_equal(f.name, "[C function]");
	forget(&f);
}

static void refuses_what_is_no_function(void **state)
{
	const uint32_t codes[CODES] = { FUNCF };
	uint64_t proto = prototype(codes, LINE);
	struct lang_function f;

	(void)state;
	assert_int_equal(read_frame(proto, cookie_of(proto) ^ 2, 3, NULL, &f), -ESTALE);
	assert_int_equal(read_frame(proto + 8, 1, 3, NULL, &f), -ESTALE);
	assert_int_equal(read_frame(8, 1, 3, NULL, &f), -ESTALE);
	assert_int_equal(read_frame(0, 1, 0, NULL, &f), -ETIME);
	/* the source is not a string any more: nothing is known */
	memory_put(&m, proto + LUAJIT_PROTO_SOURCE, proto);
	assert_int_equal(read_frame(proto, cookie_of(proto), 3, NULL, &f), -ESTALE);
	forget(&f);
}

/* ---- traces ------------------------------------------------------------------------- */

struct snapshot {
	uint32_t map;
	uint16_t ref, code;
	uint8_t n_slots, top, n, count;
};

/*
 * Adds a trace that starts in @outer. Its second snapshot, at 0x40, is in @inner, three slots
 * above, which the instruction before @link called; slot 4 has that link.
 */
static uint64_t trace(uint64_t outer, uint64_t pc_outer, uint64_t link, uint64_t pc_inner)
{
	const struct snapshot snaps[2] = { { .n = 0 }, { .map = 2, .code = 0x40, .n = 1 } };
	uint64_t map[3] = { pc_outer << 8, 4ULL << 24 | (IR_BIAS - 4) | (pc_inner << 8 | 3) << 32,
			    pc_inner >> 24 };
	uint64_t at, ir, constant;

	constant = memory_add(&m, NULL, 16);
	memory_put(&m, constant + 8, link);
	ir = constant - 8ULL * (IR_BIAS - 4);
	at = memory_add(&m, NULL, LUAJIT_TRACE_BYTES);
	memory_put(&m, at + 8, LUAJIT_GCTRACE << 8 | 2 << 16);
	memory_put(&m, at + LUAJIT_TRACE_IR, ir);
	memory_put(&m, at + 40, 5ULL << 32);
	memory_put(&m, at + LUAJIT_TRACE_SNAPS, memory_add(&m, snaps, sizeof(snaps)));
	memory_put(&m, at + LUAJIT_TRACE_MAP, memory_add(&m, map, sizeof(map)));
	memory_put(&m, at + LUAJIT_TRACE_START, outer);
	return at;
}

static uint32_t trace_cookie(uint64_t at)
{
	__u64 words[LUAJIT_TRACE_BYTES / 8];

	memcpy(words, memory_at(&m, at), sizeof(words));
	return lang_cookie(luajit_trace_key(words));
}

static void lists_inlined_functions(void **state)
{
	const uint32_t codes[CODES] = { FUNCF, [5] = AD(CALL, 1, 0) };
	uint64_t outer, inner, out_code, in_code, at;
	struct lang_call calls[LANG_CALLS_MAX];

	(void)state;
	memory_add(&m, NULL, 2048);
	outer = prototype(codes, LINE);
	inner = prototype(codes, LINE + 100);
	out_code = outer + LUAJIT_PROTO_BYTES;
	in_code = inner + LUAJIT_PROTO_BYTES;
	at = trace(outer, out_code + 8, out_code + 4 * 6, in_code + 4);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x3f, trace_cookie(at), calls), 1);
	assert_int_equal(calls[0].addr, outer);
	assert_int_equal(calls[0].place, 3);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at), calls), 2);
	assert_int_equal(calls[0].addr, inner);
	assert_int_equal(calls[0].place, 2);
	assert_int_equal(calls[0].cookie, cookie_of(inner));
	assert_int_equal(calls[1].addr, outer);
	assert_int_equal(calls[1].place, 6);
}

/* While a trace jumps to another one, the function outside of the innermost has a frame of its own.
 */
static void omits_what_the_stack_has(void **state)
{
	const uint32_t codes[CODES] = { FUNCF, [5] = AD(CALL, 1, 0) };
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t outer, code, at, caller[2];

	(void)state;
	memory_add(&m, NULL, 2048);
	outer = prototype(codes, LINE);
	code = outer + LUAJIT_PROTO_BYTES;
	at = trace(outer, code + 8, code + 4 * 6,
		   prototype(codes, LINE + 100) + LUAJIT_PROTO_BYTES + 4);
	memory_put(&m, at + LUAJIT_TRACE_N_MCODE - 4, 0x50ULL << 32);
	caller[0] = VM_FRAME_WORD(0, 0, outer);
	caller[1] = 6ULL << 32 | cookie_of(outer);
	m.process.caller = caller;
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x4b, trace_cookie(at), calls), 1);
	assert_int_not_equal(calls[0].addr, outer);
	/* before that, the same frame outside of the trace is a call of its own */
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at), calls), 2);
	caller[1] = 5ULL << 32 | cookie_of(outer);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x4b, trace_cookie(at), calls), 2);
	m.process.caller = NULL;
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x4b, trace_cookie(at), calls), 2);
}

static void traces_that_lie(void **state)
{
	const uint32_t codes[CODES] = { FUNCF, [5] = AD(CALL, 200, 0) };
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t outer, code, at;

	(void)state;
	memory_add(&m, NULL, 2048);
	outer = prototype(codes, LINE);
	code = outer + LUAJIT_PROTO_BYTES;
	/* the link leads below the first frame: only the function where it starts is known */
	at = trace(outer, code + 8, code + 4 * 6, code + 4);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at), calls), 1);
	assert_int_equal(calls[0].addr, outer);
	assert_int_equal(calls[0].place, 0);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at) ^ 2, calls),
			 -ESTALE);
	/* the map is shorter than the snapshot needs */
	memory_put(&m, at + 40, 3ULL << 32);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at), calls), 1);
	memory_put(&m, at + LUAJIT_TRACE_START, 8);
	assert_int_equal(luajit_trace_calls(&m.process, at, 0x40, trace_cookie(at), calls),
			 -ESTALE);
}

int test_luajit(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_calls, setup),
		cmocka_unit_test_setup(calls_without_a_name, setup),
		cmocka_unit_test_setup(finds_the_prototype_of_an_instruction, setup),
		cmocka_unit_test_setup(reads_functions, setup),
		cmocka_unit_test_setup(refuses_what_is_no_function, setup),
		cmocka_unit_test_setup(lists_inlined_functions, setup),
		cmocka_unit_test_setup(omits_what_the_stack_has, setup),
		cmocka_unit_test_setup(traces_that_lie, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
