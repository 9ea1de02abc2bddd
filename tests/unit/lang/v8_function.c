/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lang/v8/heap.h"
#include "tests/test.h"
#include "v8_memory.h"

enum {
	NAME = 16, /* offsets in a SharedFunctionInfo */
	DATA = 8,
	SCRIPT = 32,
	SHARED_TYPE = 262,
	/* scope types and flags, as of version 11 */
	CLASS_SCOPE = 0,
	FUNCTION_SCOPE = 2,
	MODULE_SCOPE = 3,
	BLOCK_SCOPE = 6,
	RECEIVER_STACK = 1 << 7,
	RECEIVER_UNUSED = 3 << 7,
	CLASS_VARIABLE = 1 << 10,
	FUNCTION_NAME = 1 << 12,
	INFERRED_NAME = 1 << 14,
	UNMAPPED = 0x7f0000000000,
};

struct scope {
	struct v8_memory *v;
	uint64_t at, next; /* next: address of the next slot */
};

/* Begins a ScopeInfo, whose slots begin at @slots, with its flags, parameters and locals. */
static struct scope begin(struct v8_memory *v, uint16_t slots, int32_t flags, int32_t n_locals)
{
	struct scope s = { v, v8_memory_object(v, V8_SCOPE, 2048), 0 };

	s.next = s.at + slots;
	for (size_t i = 0; i < 3; i++, s.next += 8)
		v8_memory_put_smi(v, s.next, ((int32_t[]){ flags, 0, n_locals })[i]);
	return s;
}

static void put_others(struct scope *s, size_t n)
{
	for (; n; n--, s->next += 8)
		v8_memory_put_smi(s->v, s->next, 99);
}

static uint64_t put_name(struct scope *s, const char *name)
{
	uint64_t at = v8_memory_string(s->v, name);

	v8_memory_put_object(s->v, s->next, at);
	s->next += 8;
	return at;
}

static void put_place(struct scope *s, int32_t start, int32_t end)
{
	v8_memory_put_smi(s->v, s->next, start);
	v8_memory_put_smi(s->v, s->next + 8, end);
	s->next += 16;
}

static int get(struct v8_memory *v, uint64_t scope, struct v8_function *out)
{
	uint64_t shared = v8_memory_object(v, SHARED_TYPE, 64);
	struct v8_heap h;

	v8_memory_put_object(v, shared + NAME, scope);
	v8_memory_put_object(v, shared + SCRIPT, v->script);
	v8_memory_heap(v, &h);
	return v8_get_function(&h, shared, out);
}

static void check(struct v8_memory *v, uint64_t scope, uint64_t name, uint64_t inferred,
		  int32_t start)
{
	struct v8_function f;

	assert_int_equal(get(v, scope, &f), 0);
	assert_int_equal(f.name, name);
	assert_int_equal(f.inferred, inferred);
	assert_int_equal(f.script, v->script);
	assert_int_equal(f.positioned, start >= 0);
	if (start >= 0) {
		assert_int_equal(f.start, start);
		assert_int_equal(f.end, start + 10);
	}
}

static void set_version(struct v8_memory *v, uint8_t major, uint8_t minor)
{
	v->v8[1].major = major;
	v->v8[1].minor = minor;
}

static void names_follow_the_local_variables(void **state)
{
	static const int32_t locals[] = { 0, 1, 5, 74 };
	struct v8_memory *v = *state;

	for (size_t i = 0; i < sizeof(locals) / sizeof(*locals); i++) {
		struct scope s =
			begin(v, 8, FUNCTION_SCOPE | FUNCTION_NAME | INFERRED_NAME, locals[i]);
		uint64_t name, inferred;

		put_others(&s, 2 * (size_t)locals[i]); /* the name of each, and its location */
		name = put_name(&s, "own");
		put_others(&s, 1);
		inferred = put_name(&s, "inferred");
		put_place(&s, 50, 60);
		check(v, s.at, name, inferred, 50);
	}
}

static void the_names_of_many_variables_are_in_a_table(void **state)
{
	struct v8_memory *v = *state;
	struct scope s = begin(v, 8, FUNCTION_SCOPE | FUNCTION_NAME, 75);
	uint64_t name;

	put_others(&s, 1 + 75);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
}

static void flags_announce_further_slots(void **state)
{
	struct v8_memory *v = *state;
	struct scope s;
	uint64_t name;

	/* a class variable, since version 8; a receiver, in versions 8 and 9 only */
	s = begin(v, 8, FUNCTION_SCOPE | CLASS_VARIABLE | RECEIVER_STACK | FUNCTION_NAME, 0);
	put_others(&s, 1);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
	set_version(v, 9, 4);
	s = begin(v, 8, FUNCTION_SCOPE | CLASS_VARIABLE | RECEIVER_STACK | FUNCTION_NAME, 0);
	put_others(&s, 2);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
	s = begin(v, 8, FUNCTION_SCOPE | RECEIVER_UNUSED | FUNCTION_NAME, 0);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
	set_version(v, 12, 4); /* a module has the number of its variables first */
	s = begin(v, 8, MODULE_SCOPE | FUNCTION_NAME, 0);
	put_others(&s, 1);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
}

static void early_scopes_are_arrays_with_fewer_flags(void **state)
{
	struct v8_memory *v = *state;
	struct scope s;
	uint64_t name;

	set_version(v, 7, 8);
	s = begin(v, 16, FUNCTION_SCOPE | 1 << 11, 0);
	name = put_name(&s, "own");
	put_others(&s, 1);
	put_place(&s, 50, 60);
	check(v, s.at, name, 0, 50);
}

static void later_scopes_have_positions_first(void **state)
{
	struct v8_memory *v = *state;
	struct scope s;
	uint64_t name;

	set_version(v, 13, 6);
	v->v8[1].f.scope_first_vars = 5;
	s = begin(v, 8, 0, 1);
	memory_put(&v->m, s.at + 8, 4 | FUNCTION_NAME); /* not a Smi */
	put_place(&s, 50, 60);
	put_others(&s, 2);
	name = put_name(&s, "own");
	check(v, s.at, name, 0, 50);
}

static void only_some_scopes_have_positions(void **state)
{
	static const struct {
		uint8_t major;
		int32_t type;
		bool positioned;
	} cases[] = {
		{ 9, CLASS_SCOPE, false },   { 10, CLASS_SCOPE, true },
		{ 9, FUNCTION_SCOPE, true }, { 11, FUNCTION_SCOPE, true },
		{ 11, BLOCK_SCOPE, false },  { 11, 15, false },
	};
	struct v8_memory *v = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scope s;

		set_version(v, cases[i].major, 2);
		s = begin(v, 8, cases[i].type, 0);
		put_place(&s, 50, 60);
		check(v, s.at, 0, 0, cases[i].positioned ? 50 : -1);
	}
}

static void implausible_positions_are_ignored(void **state)
{
	static const int32_t places[][2] = { { -1, 5 }, { 10, 9 }, { INT32_MIN, INT32_MIN } };
	struct v8_memory *v = *state;

	for (size_t i = 0; i < 3; i++) {
		struct scope s = begin(v, 8, FUNCTION_SCOPE, 0);

		put_place(&s, places[i][0], places[i][1]);
		check(v, s.at, 0, 0, -1);
	}
}

static void false_numbers_of_variables_leave_the_function_unnamed(void **state)
{
	static const int32_t locals[] = { -1, INT32_MIN, (1 << 20) + 1, INT32_MAX, 1 << 20 };
	struct v8_memory *v = *state;

	for (size_t i = 0; i < sizeof(locals) / sizeof(*locals); i++) {
		struct scope s = begin(v, 8, FUNCTION_SCOPE | FUNCTION_NAME, locals[i]);

		put_name(&s, "own");
		check(v, s.at, 0, 0, -1);
	}
}

static void a_name_that_is_no_string_is_ignored(void **state)
{
	struct v8_memory *v = *state;
	struct scope s = begin(v, 8, FUNCTION_SCOPE | FUNCTION_NAME | INFERRED_NAME, 0);

	v8_memory_put_object(v, s.next, v->script);
	s.next += 16;
	memory_put(&v->m, s.next, UNMAPPED | 1);
	s.next += 8;
	put_place(&s, 50, 60);
	check(v, s.at, 0, 0, 50);
}

static void a_function_may_have_a_name_instead_of_a_scope(void **state)
{
	struct v8_memory *v = *state;
	uint64_t name = v8_memory_string(v, "own"), shared;
	struct v8_function f;
	struct v8_heap h;

	check(v, name, name, 0, -1);
	assert_int_equal(get(v, v->script, &f), -EBADMSG);
	assert_int_equal(get(v, UNMAPPED, &f), -EBADMSG);
	shared = v8_memory_object(v, SHARED_TYPE, 64);
	v8_memory_put_smi(v, shared + NAME, 7); /* no name; and no script */
	v8_memory_put_object(v, shared + SCRIPT, name);
	v8_memory_heap(v, &h);
	assert_int_equal(v8_get_function(&h, shared, &f), 0);
	assert_int_equal(f.name, 0);
	assert_int_equal(f.script, 0);
	assert_false(f.positioned);
}

/* ---- byte code ------------------------------------------------------------------------- */

static int bytecode_of(struct v8_memory *v, uint64_t data, uint64_t *out)
{
	uint64_t shared = v8_memory_object(v, SHARED_TYPE, 64);
	struct v8_heap h;

	v8_memory_put_object(v, shared + DATA, data);
	v8_memory_heap(v, &h);
	return v8_get_bytecode(&h, shared, out);
}

static void byte_code_may_be_behind_code_and_other_objects(void **state)
{
	struct v8_memory *v = *state;
	uint64_t bytecode = v8_memory_object(v, V8_BYTECODES, 64), found;
	uint64_t code = v8_memory_object(v, V8_CODES, 80), both = v8_memory_object(v, V8_OTHER, 32);
	struct v8_heap h;

	v8_memory_heap(v, &h);
	v8_memory_put_object(v, code + h.shape.code_deopt, bytecode);
	assert_int_equal(bytecode_of(v, bytecode, &found), 0);
	assert_int_equal(found, bytecode);
	assert_int_equal(bytecode_of(v, code, &found), 0);
	assert_int_equal(found, bytecode);
	v8_memory_put_object(v, both + 8, bytecode); /* in either order */
	v8_memory_put_object(v, both + 16, code);
	assert_int_equal(bytecode_of(v, both, &found), 0);
	assert_int_equal(found, bytecode);
	v8_memory_put_object(v, both + 8, code);
	v8_memory_put_object(v, both + 16, bytecode);
	assert_int_equal(bytecode_of(v, both, &found), 0);
	assert_int_equal(found, bytecode);
}

static void chains_without_byte_code_end(void **state)
{
	struct v8_memory *v = *state;
	uint64_t loop = v8_memory_object(v, V8_OTHER, 32), found;
	uint64_t code = v8_memory_object(v, V8_CODES, 80);
	struct v8_heap h;

	v8_memory_heap(v, &h);
	v8_memory_put_object(v, loop + 8, loop);
	assert_int_equal(bytecode_of(v, loop, &found), -EBADMSG);
	v8_memory_put_object(v, code + h.shape.code_deopt, code);
	assert_int_equal(bytecode_of(v, code, &found), -EBADMSG);
	assert_true(bytecode_of(v, UNMAPPED, &found) < 0);
	assert_true(bytecode_of(v, 0, &found) < 0);
}

TEST_GROUP(test_v8_function, V8_TEST(names_follow_the_local_variables),
	   V8_TEST(the_names_of_many_variables_are_in_a_table),
	   V8_TEST(flags_announce_further_slots), V8_TEST(early_scopes_are_arrays_with_fewer_flags),
	   V8_TEST(later_scopes_have_positions_first), V8_TEST(only_some_scopes_have_positions),
	   V8_TEST(implausible_positions_are_ignored),
	   V8_TEST(false_numbers_of_variables_leave_the_function_unnamed),
	   V8_TEST(a_name_that_is_no_string_is_ignored),
	   V8_TEST(a_function_may_have_a_name_instead_of_a_scope),
	   V8_TEST(byte_code_may_be_behind_code_and_other_objects),
	   V8_TEST(chains_without_byte_code_end))
