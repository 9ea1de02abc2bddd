/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep_lookahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "tests/x86_64.h"

enum { VADDR = 0x1000 };

/* Prepares a sweep of one gap with @code in an unknown state. */
static void begin(struct unwind_sweep *sw, const uint8_t *code, size_t len)
{
	struct unwind_sweep_gap gap = { .vaddr = VADDR, .code = code, .len = len };

	memset(sw, 0, sizeof(*sw));
	sw->n_bytes = len;
	sw->states = calloc(len, sizeof(*sw->states));
	assert_non_null(sw->states);
	assert_int_equal(vec_push(&sw->gaps, gap), 0);
}

static bool find(struct unwind_sweep *sw, struct unwind_sweep_state *out)
{
	struct unwind_lookahead a = { .sw = sw };

	return unwind_lookahead_find(&a, VADDR, out);
}

static void a_return_decides_the_depth_and_where_registers_are(void **state)
{
	static const uint8_t code[] = { 0x5b, 0x5d, 0xc3 }; /* pop %rbx; pop %rbp; ret */
	struct unwind_sweep_state s;
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	assert_true(find(&sw, &s));
	assert_int_equal(s.depth, 2);
	assert_int_equal(s.rbp, 2);
	assert_int_equal(s.rbx, 3);
	unwind_sweep_fini(&sw);
}

static void leave_shows_a_frame_pointer(void **state)
{
	static const uint8_t code[] = { 0x90, 0xc9, 0xc3 }; /* nop; leave; ret */
	struct unwind_sweep_state s;
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	assert_true(find(&sw, &s));
	assert_true(s.frame && s.rsp_moved);
	assert_int_equal(s.rbp, 2);
	unwind_sweep_fini(&sw);
}

static void a_jump_arrives_with_the_state_of_its_target(void **state)
{
	static const uint8_t code[] = { 0x50, 0xeb, 0x00, 0x90 }; /* push %rax; jmp to the nop */
	struct unwind_sweep_state s;
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	sw.states[3] = (struct unwind_sweep_state){ .seen = 1, .depth = 4, .rbx = 2 };
	assert_true(find(&sw, &s));
	assert_int_equal(s.depth, 3);
	assert_int_equal(s.rbx, 2);
	unwind_sweep_fini(&sw);
}

static void nothing_is_known_before_an_indirect_jump(void **state)
{
	static const uint8_t code[] = { 0x5b, 0xff, 0xe0 }; /* pop %rbx; jmp *%rax */
	struct unwind_sweep_state s;
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	assert_false(find(&sw, &s));
	unwind_sweep_fini(&sw);
}

static void more_pushes_than_pops_are_no_function(void **state)
{
	static const uint8_t code[] = { 0x50, 0xc3 }; /* push %rax; ret */
	struct unwind_sweep_state s;
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	assert_false(find(&sw, &s));
	unwind_sweep_fini(&sw);
}

static void a_dead_end_is_one_for_each_instruction_on_its_path(void **state)
{
	static const uint8_t code[] = { 0x58, 0x58, 0x58, 0xcc,
					0xc3 }; /* pop %rax; ...; int3; ret */
	struct unwind_dead_end known = { 0 };
	struct unwind_sweep sw;

	begin(&sw, code, sizeof(code));
	for (uint64_t at = 0; at < 4; at++) {
		assert_true(unwind_dead_end_covers(&sw, &known, VADDR + at));
		unwind_dead_end_step(&known);
	}
	known = (struct unwind_dead_end){ 0 };
	assert_false(unwind_dead_end_covers(&sw, &known, VADDR + 4));
	unwind_sweep_fini(&sw);
}

TEST_GROUP_OF_X86_64(test_sweep_lookahead, TEST(a_return_decides_the_depth_and_where_registers_are),
		     TEST(leave_shows_a_frame_pointer),
		     TEST(a_jump_arrives_with_the_state_of_its_target),
		     TEST(nothing_is_known_before_an_indirect_jump),
		     TEST(more_pushes_than_pops_are_no_function),
		     TEST(a_dead_end_is_one_for_each_instruction_on_its_path))
