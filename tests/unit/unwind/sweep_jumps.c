/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep_jumps.h"

#include "elf/x86_insn.h"
#include "tests/test.h"
#include "tests/x86_64.h"

static const struct unwind_sweep_state two_words = { .seen = 1, .depth = 2 };
static const struct unwind_sweep_state three_words = { .seen = 1, .depth = 3 };

#define STEP(j, code)                                                                              \
	unwind_sweep_jumps_step(j, x86_sum_register((const uint8_t *)(code), sizeof(code) - 1))
#define NOTE(j, code, s)                                                                           \
	unwind_sweep_jumps_note(j, x86_jump_register((const uint8_t *)(code), sizeof(code) - 1), s)

/* Returns true if @jump counts as one by a table after @sum. */
#define IS_BY_TABLE(sum, jump)                                                                     \
	({                                                                                         \
		struct unwind_sweep_jumps jumps_ = { 0 };                                          \
		STEP(&jumps_, sum);                                                                \
		STEP(&jumps_, jump);                                                               \
		NOTE(&jumps_, jump, &two_words);                                                   \
		unwind_sweep_jumps_state(&jumps_) != NULL;                                         \
	})

static void a_jump_to_a_sum_is_by_a_table(void **state)
{
	assert_true(IS_BY_TABLE("\x48\x01\xc8", "\xff\xe0"));     /* add %rcx,%rax; jmp *%rax */
	assert_true(IS_BY_TABLE("\x48\x03\xc1", "\xff\xe0"));     /* the same in another encoding */
	assert_true(IS_BY_TABLE("\x48\x01\xc8", "\x3e\xff\xe0")); /* notrack jmp *%rax */
	assert_true(IS_BY_TABLE("\x4d\x01\xd8", "\x41\xff\xe0")); /* add %r11,%r8; jmp *%r8 */
	assert_true(IS_BY_TABLE("\x4c\x03\xc0", "\x41\xff\xe0")); /* add %rax,%r8; jmp *%r8 */
}

static void other_jumps_are_not(void **state)
{
	assert_false(IS_BY_TABLE("\x48\x01\xc8", "\xff\xe1"));     /* jmp *%rcx */
	assert_false(IS_BY_TABLE("\x48\x01\xc8", "\x41\xff\xe0")); /* jmp *%r8 */
	assert_false(IS_BY_TABLE("\x4d\x01\xd8", "\xff\xe0"));     /* add %r11,%r8; jmp *%rax */
	assert_false(IS_BY_TABLE("\x01\xc8\x90", "\xff\xe0"));     /* add %ecx,%eax */
	assert_false(IS_BY_TABLE("\x48\x01\x08", "\xff\xe0"));     /* add %rcx,(%rax) */
	assert_false(IS_BY_TABLE("\x48\x29\xc8", "\xff\xe0"));     /* sub %rcx,%rax */
	assert_false(IS_BY_TABLE("\x48\x01\xc8", "\xff\x20"));     /* jmp *(%rax) */
	assert_false(IS_BY_TABLE("\x48\x01\xc8", "\xe0"));
}

static void the_sum_must_be_recent(void **state)
{
	struct unwind_sweep_jumps j = { 0 };

	STEP(&j, "\x48\x01\xc8");
	for (int i = 0; i < 40; i++)
		STEP(&j, "\x90");
	NOTE(&j, "\xff\xe0", &two_words);
	assert_null(unwind_sweep_jumps_state(&j));
}

static void jumps_of_a_function_must_agree(void **state)
{
	const struct unwind_sweep_state lost = { .seen = 1, .lost = 1 };
	struct unwind_sweep_jumps j = { 0 };

	STEP(&j, "\x48\x01\xc8");
	NOTE(&j, "\xff\xe0", &two_words);
	NOTE(&j, "\xff\xe0", &two_words);
	assert_int_equal(unwind_sweep_jumps_state(&j)->depth, 2);
	NOTE(&j, "\xff\xe0", &three_words);
	assert_null(unwind_sweep_jumps_state(&j));
	j = (struct unwind_sweep_jumps){ 0 };
	STEP(&j, "\x48\x01\xc8");
	NOTE(&j, "\xff\xe0", &lost);
	assert_null(unwind_sweep_jumps_state(&j));
}

TEST_GROUP_OF_X86_64(test_sweep_jumps, TEST(a_jump_to_a_sum_is_by_a_table),
		     TEST(other_jumps_are_not), TEST(the_sum_must_be_recent),
		     TEST(jumps_of_a_function_must_agree))
