/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "jvm_memory.h"
#include "tests/test.h"

/* Offsets in the compiled method, and the address of scopes that a test writes. */
enum {
	METADATA = 0x400,
	SCOPES_DATA = 120,
	SCOPES_PCS = 268,
	PCS_END = 272,
	PCS = 0x480,
	MY_SCOPES = JVM_FREE_AT,
	MY_PCS = JVM_FREE_AT + 0x1000,
	INDEX_OUTER = 1,
	INDEX_INNER = 2,
	BLOB_MAX = 1 << 22, /* bytes of PcDescs that are read */
};

static struct lang_call calls[LANG_CALLS_MAX];

static int scopes_setup(void **state)
{
	struct unwind_mapping regions[LANG_REGIONS_MAX];

	return jvm_memory_setup(state) || jvm_memory_attach(*state, regions) <= 0;
}

static int expand(struct jvm_memory *j, enum jvm_object object, uint32_t place)
{
	uint64_t words[2];
	int n;

	jvm_memory_frame(j, object, place, words);
	memset(calls, 0x55, sizeof(calls));
	n = jvm_expand(&j->m.tables, 2, &j->m.process, words, calls);
	assert_true(n >= 1 && n <= LANG_CALLS_MAX);
	return n;
}

/* The frame stands for the method itself, at an unknown position. */
static void check_unknown(struct jvm_memory *j)
{
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE), 1);
	assert_int_equal(calls[0].addr, j->outer);
	assert_int_equal(calls[0].place, JVM_PLACE_NONE | LANG_PLACE_NEAR);
}

/* Uses the scopes and the PcDescs that a test writes; the last PcDesc marks the end. */
static void use_mine(struct jvm_memory *j, size_t n_descs)
{
	memory_put(&j->m, j->nmethod + SCOPES_DATA, MY_SCOPES);
	jvm_memory_put32(j, j->nmethod + SCOPES_PCS, (uint32_t)(MY_PCS - j->nmethod));
	jvm_memory_put32(j, j->nmethod + PCS_END, (uint32_t)(MY_PCS - j->nmethod + 16 * n_descs));
}

static void put_desc(struct jvm_memory *j, size_t i, int32_t pc, int32_t scope)
{
	jvm_memory_put32(j, MY_PCS + 16 * i, (uint32_t)pc);
	jvm_memory_put32(j, MY_PCS + 16 * i + 4, (uint32_t)scope);
}

static void put_scope(struct jvm_memory *j, uint32_t off, uint8_t caller, uint8_t method,
		      uint8_t place)
{
	memcpy(memory_at(&j->m, MY_SCOPES + off), (uint8_t[]){ caller, method, place }, 3);
}

static void a_chain_of_calls_is_limited(void **state)
{
	struct jvm_memory *j = *state;

	/* Scope i is at 2 * i and is called by scope i - 1. Its place is the next one's caller. */
	for (uint32_t i = 1; i < 90; i++)
		put_scope(j, 2 * i, (uint8_t)(2 * i - 2), INDEX_INNER, 1);
	use_mine(j, 3);
	put_desc(j, 0, -1, 0);
	put_desc(j, 2, 0x7fff, 0);
	put_desc(j, 1, JVM_CODE_PLACE, 10);
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE), 5);
	put_desc(j, 1, JVM_CODE_PLACE, 178);
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE), LANG_CALLS_MAX);
}

static void bad_scopes_leave_the_method_itself(void **state)
{
	static const struct {
		int32_t scope;
		uint8_t bytes[3];
	} cases[] = {
		{ 4, { 0, 0, 1 } },                         /* no method */
		{ 4, { 0, 3, 1 } },                         /* a method at a null pointer */
		{ 4, { 0, 191, 1 } },                       /* beyond the metadata */
		{ 4, { 0, 255, 255 } }, { 0, { 0, 1, 1 } }, /* no scope */
		{ -4, { 0, 1, 1 } },    { INT32_MAX, { 0, 1, 1 } },
	};
	struct jvm_memory *j = *state;

	use_mine(j, 3);
	put_desc(j, 0, -1, 0);
	put_desc(j, 2, 0x7fff, 0);
	memory_put(&j->m, j->nmethod + METADATA + 16, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put_desc(j, 1, JVM_CODE_PLACE, cases[i].scope);
		memcpy(memory_at(&j->m, MY_SCOPES + 4), cases[i].bytes, 3);
		check_unknown(j);
	}
	put_desc(j, 1, JVM_CODE_PLACE, 4);
	put_scope(j, 4, 0, INDEX_OUTER, 8);
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE), 1);
	assert_int_equal(calls[0].place, 7);
	memory_put(&j->m, j->nmethod + METADATA, j->outer + 4); /* not aligned */
	check_unknown(j);
}

static void a_scope_before_the_first_byte_code_has_no_place(void **state)
{
	struct jvm_memory *j = *state;

	use_mine(j, 3);
	put_desc(j, 0, -1, 0);
	put_desc(j, 1, JVM_CODE_PLACE, 4);
	put_desc(j, 2, 0x7fff, 0);
	put_scope(j, 4, 0, INDEX_OUTER, 0);
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE), 1);
	assert_int_equal(calls[0].place, JVM_PLACE_NONE);
}

static void false_ranges_of_pc_descs_leave_the_method_itself(void **state)
{
	static const uint32_t ends[] = {
		0, PCS, PCS + 15, PCS + 16, PCS + BLOB_MAX + 1, 0x7fffffff, UINT32_MAX
	};
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		jvm_memory_put32(j, j->nmethod + PCS_END, ends[i]);
		check_unknown(j);
	}
	jvm_memory_put32(j, j->nmethod + PCS_END, PCS + BLOB_MAX); /* more than can be read */
	check_unknown(j);
	jvm_memory_put32(j, j->nmethod + SCOPES_PCS, UINT32_MAX - 64);
	check_unknown(j);
}

static void places_outside_of_the_pc_descs_are_unknown(void **state)
{
	struct jvm_memory *j = *state;

	assert_int_equal(expand(j, JVM_COMPILED, 0x7fff), 1);
	assert_int_equal(calls[0].place, JVM_PLACE_NONE | LANG_PLACE_NEAR);
	assert_int_equal(expand(j, JVM_COMPILED, JVM_CODE_PLACE + 1), 1);
	assert_int_equal(expand(j, JVM_COMPILED, 0), 2);
	assert_int_equal(calls[0].place, 5); /* A return address always has a PcDesc. */
	assert_int_equal(expand(j, JVM_COMPILED_LEAF, 0), 2);
	assert_int_equal(calls[0].place, 5 | LANG_PLACE_NEAR);
	assert_int_equal(expand(j, JVM_COMPILED_LEAF, JVM_CODE_PLACE), 2);
	assert_int_equal(calls[0].place, 5);
}

/* Expansion of a frame makes at least one call, valid or not. */
static void any_debug_information_makes_calls(void **state)
{
	struct jvm_memory *j = *state;

	srandom(9);
	for (int round = 0; round < 5000; round++) {
		use_mine(j, 1 + (size_t)random() % 12);
		for (size_t i = 0; i < 12; i++)
			put_desc(j, i, (int32_t)(random() % 0x80) - 8,
				 (int32_t)(random() % 70) - 3);
		for (uint32_t i = 0; i < 64; i++)
			*(uint8_t *)memory_at(&j->m, MY_SCOPES + i) =
				(uint8_t)(random() % 3 ? random() % 64 : random());
		j->jvm[2].zero_free = round % 2;
		for (uint32_t place = 0; place < 0x80; place += 7)
			expand(j, round % 3 ? JVM_COMPILED : JVM_COMPILED_LEAF, place);
	}
}

/* ---- frames of other kinds ------------------------------------------------------------- */

static void interpreted_frames_are_one_call(void **state)
{
	struct jvm_memory *j = *state;
	const uint64_t words[2] = { VM_FRAME_WORD(JVM_METHOD, 2, j->outer),
				    VM_PLACE_WORD(17, 0x1234) };

	assert_int_equal(jvm_expand(&j->m.tables, 2, &j->m.process, words, calls), 1);
	assert_int_equal(calls[0].addr, j->outer);
	assert_int_equal(calls[0].place, 17);
	assert_int_equal(calls[0].cookie, 0x1234);
}

static void code_that_is_gone_is_reported_by_its_address(void **state)
{
	struct jvm_memory *j = *state;
	const uint64_t words[2] = { VM_FRAME_WORD(JVM_COMPILED, 2, 0x7f0000000000),
				    VM_PLACE_WORD(17, 0x1234) };
	const uint64_t stub[2] = { VM_FRAME_WORD(JVM_STUB, 2, 0x7f0000000000),
				   VM_PLACE_WORD(17, 0x1234) };
	struct lang_function f = { 0 };

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			jvm_expand(&j->m.tables, 2, &j->m.process, i ? stub : words, calls), 1);
		assert_int_equal(calls[0].addr, 0x7f0000000000 | JVM_IS_STUB);
		assert_int_equal(jvm_read(&j->m.tables, 2, &j->m.process, calls[0].addr,
					  calls[0].cookie, &f),
				 -ESTALE);
	}
}

#define SCOPES_TEST(fn) cmocka_unit_test_setup_teardown(fn, scopes_setup, jvm_memory_teardown)

TEST_GROUP(test_jvm_scopes, SCOPES_TEST(a_chain_of_calls_is_limited),
	   SCOPES_TEST(bad_scopes_leave_the_method_itself),
	   SCOPES_TEST(a_scope_before_the_first_byte_code_has_no_place),
	   SCOPES_TEST(false_ranges_of_pc_descs_leave_the_method_itself),
	   SCOPES_TEST(places_outside_of_the_pc_descs_are_unknown),
	   SCOPES_TEST(any_debug_information_makes_calls),
	   SCOPES_TEST(interpreted_frames_are_one_call),
	   SCOPES_TEST(code_that_is_gone_is_reported_by_its_address))
