/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/probe_insn.h"

#include "tests/test.h"

#define FIND(...) find((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Returns the offset of the place; -1: there is none. */
static int find(const uint8_t *code, size_t len)
{
	uint32_t off = 0;

	return probe_insn_find(code, len, &off) ? (int)off : -1;
}

static void finds_the_first_emulated_instruction(void **state)
{
	assert_int_equal(FIND(0x41, 0x54), 0);                               /* push %r12 */
	assert_int_equal(FIND(0xf3, 0x0f, 0x1e, 0xfa, 0x55), 4);             /* endbr64; push */
	assert_int_equal(FIND(0x48, 0x85, 0xff, 0x0f, 0x84, 1, 0, 0, 0), 3); /* test %rdi; je */
	assert_int_equal(FIND(0x48, 0x89, 0xf8, 0x74, 0x01), 3);             /* mov %rdi,%rax; je */
	assert_int_equal(FIND(0x80, 0x3d, 1, 0, 0, 0, 0, 0x53), 7);          /* cmpb mem; push */
	assert_int_equal(FIND(0x48, 0x8b, 0x05, 1, 0, 0, 0, 0x53), 7);       /* mov mem,%rax */
	assert_int_equal(FIND(0xe9, 1, 0, 0, 0), 0);                         /* jmp */
}

static void stops_where_an_argument_or_the_stack_changes(void **state)
{
	assert_int_equal(FIND(0x48, 0x89, 0xc7, 0x55), -1);       /* mov %rax,%rdi */
	assert_int_equal(FIND(0x31, 0xf6, 0x55), -1);             /* xor %esi,%esi */
	assert_int_equal(FIND(0xbf, 1, 0, 0, 0, 0x55), -1);       /* mov $1,%edi */
	assert_int_equal(FIND(0x48, 0x83, 0xec, 0x10, 0x55), -1); /* sub $16,%rsp */
	assert_int_equal(FIND(0x48, 0x8d, 0x7f, 0x01, 0x55), -1); /* lea 1(%rdi),%rdi */
	assert_int_equal(FIND(0x48, 0x83, 0xc7, 0x01, 0x55), -1); /* add $1,%rdi */
	assert_int_equal(FIND(0x0f, 0x05, 0x55), -1);             /* syscall: unknown */
}

static void survives_truncated_code(void **state)
{
	assert_int_equal(find(NULL, 0), -1);
	assert_int_equal(FIND(0x41), -1);
	assert_int_equal(FIND(0x48, 0x85), -1);
	assert_int_equal(FIND(0x0f, 0x84, 1), -1);
}

static bool is_target(void *ctx, int64_t away)
{
	return away == *(const int64_t *)ctx;
}

static bool forwards(const uint8_t *code, size_t len, int64_t target)
{
	return probe_insn_forwards(code, len, is_target, &target);
}

#define FORWARDS(target, ...)                                                                      \
	forwards((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), target)

static void finds_functions_that_pass_calls_on(void **state)
{
	assert_true(FORWARDS(0x15, 0xe9, 0x10, 0, 0, 0));                   /* jmp */
	assert_true(FORWARDS(-0x100, 0xe9, 0xfb, 0xfe, 0xff, 0xff));        /* backwards */
	assert_true(FORWARDS(0x18, 0x48, 0x89, 0xf8, 0xe9, 0x10, 0, 0, 0)); /* mov; jmp */
	/* je over a jump; each of them leaves */
	assert_true(FORWARDS(0x1c, 0x74, 0x05, 0xe9, 0, 1, 0, 0, 0xe9, 0x10, 0, 0, 0));
	assert_false(FORWARDS(0x16, 0xe9, 0x10, 0, 0, 0));                   /* another target */
	assert_false(FORWARDS(0x17, 0x74, 0x01, 0xc3, 0xe9, 0x0f, 0, 0, 0)); /* may return */
	assert_false(FORWARDS(0x16, 0xff, 0xe0, 0xe9, 0x0f, 0, 0, 0));       /* jmp *%rax */
	assert_false(FORWARDS(2, 0xeb, 0x00, 0x90)); /* a jump within the function */
	assert_false(FORWARDS(0x15, 0xe9, 0x10, 0)); /* truncated */
	assert_false(forwards(NULL, 0, 0));
}

TEST_GROUP(test_probe_insn, TEST(finds_the_first_emulated_instruction),
	   TEST(stops_where_an_argument_or_the_stack_changes), TEST(survives_truncated_code),
	   TEST(finds_functions_that_pass_calls_on))
