/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of arm64 that src/arch recognizes, as the assembler encodes them; part of the
 * arm64 build only.
 */
#include "arch/arch.h"
#include "tests/test.h"

enum { BYTES = 4 };

/* Instructions up to a word that is not a valid one. Direct ones lead to NAME_target. */
#define CODE(name, lines)                                                                          \
	extern const uint8_t name[], name##_target[];                                              \
	__asm__(".globl " #name ", " #name "_target\n"                                             \
		".pushsection .text\n.balign 4\n" #name ":\n" lines ".inst 0\n" #name              \
		"_target: .inst 0\n.popsection\n")

/* False for the word behind the instructions. */
static bool is_code(const uint8_t *p)
{
	static const uint8_t end[BYTES];

	return memcmp(p, end, BYTES) != 0;
}

CODE(jumps, "b jumps_target\n"
	    "b.ne jumps_target\n"
	    "cbz x0, jumps_target\n"
	    "cbnz w30, jumps_target\n"
	    "tbz x3, #33, jumps_target\n"
	    "tbnz w3, #1, jumps_target\n");

CODE(calls, "bl calls_target\n"
	    "bl calls_target\n");

CODE(others, "br x16\n"
	     "blr x8\n"
	     "ret\n"
	     "nop\n"
	     "paciasp\n"
	     "stp x29, x30, [sp, #-32]!\n"
	     "adr x0, others_target\n"
	     "ldr x0, others_target\n"
	     "svc #0\n");

CODE(backward, "backward_begin: nop\n"
	       "b backward_begin\n"
	       "b.eq backward_begin\n"
	       "cbnz x1, backward_begin\n"
	       "tbz w1, #0, backward_begin\n");

CODE(lazy, "stp x16, x30, [sp, #-16]!\n"
	   "adrp x16, slot\n"
	   "ldr x17, [x16, #:lo12:slot]\n"
	   "add x16, x16, #:lo12:slot\n"
	   "br x17\n");

CODE(other_load, "adrp x16, slot\n"
		 "ldr x17, [x15, #:lo12:slot]\n"
		 "adrp x15, slot\n"
		 "ldr x17, [x16, #:lo12:slot]\n");

CODE(restorer, "ret\n"
	       "mov x8, #138\n"
	       "svc #0\n"
	       "mov x8, #139\n"
	       "svc #0\n");

CODE(context_end, "nop\n"
		  "mov x0, x19\n"
		  "cbnz x0, backward\n"
		  "b others\n");

extern uint64_t slot;
__asm__(".pushsection .data\n.balign 8\n.globl slot\n.space 8\nslot: .xword 0\n.popsection\n");

static void direct_jumps_lead_to_their_target(void **state)
{
	int64_t away;

	for (const uint8_t *p = jumps; is_code(p); p += BYTES) {
		assert_true(arch_is_jump(p, &away));
		assert_ptr_equal(p + away, jumps_target);
		assert_false(arch_is_call_to(p, &away));
	}
	for (const uint8_t *p = backward + BYTES; is_code(p); p += BYTES) {
		assert_true(arch_is_jump(p, &away));
		assert_ptr_equal(p + away, backward);
	}
}

static void direct_calls_lead_to_their_target(void **state)
{
	int64_t away;

	for (const uint8_t *p = calls; is_code(p); p += BYTES) {
		assert_true(arch_is_call_to(p, &away));
		assert_ptr_equal(p + away, calls_target);
		assert_false(arch_is_jump(p, &away));
	}
}

static void other_instructions_have_no_target(void **state)
{
	int64_t away;

	for (const uint8_t *p = others; is_code(p); p += BYTES) {
		assert_false(arch_is_jump(p, &away));
		assert_false(arch_is_call_to(p, &away));
	}
}

static void a_stub_jumps_through_its_slot(void **state)
{
	const uint8_t *stub = lazy + BYTES;
	uint64_t at;

	assert_true(arch_is_lazy_plt(lazy));
	assert_false(arch_is_lazy_plt(stub));
	assert_true(arch_is_jump_through(stub, (uint64_t)(uintptr_t)stub, &at));
	assert_int_equal(at, (uint64_t)(uintptr_t)&slot);
	/* the page is relative to the page of the code */
	assert_true(arch_is_jump_through(stub, ((uint64_t)(uintptr_t)stub | 0xfff) + 1, &at));
	assert_int_equal(at, (uint64_t)(uintptr_t)&slot + 4096);
}

static void a_load_by_another_register_is_no_stub(void **state)
{
	uint64_t at;

	assert_false(arch_is_jump_through(other_load, 0, &at));
	assert_false(arch_is_jump_through(other_load + 2 * BYTES, 0, &at));
}

static void a_restorer_loads_the_number_of_its_system_call(void **state)
{
	size_t len;

	assert_ptr_equal(arch_find_restorer(restorer, 5 * BYTES, &len), restorer + 3 * BYTES);
	assert_int_equal(len, 2 * BYTES);
	assert_null(arch_find_restorer(restorer, 4 * BYTES, &len));
}

static void the_bottom_of_a_context_is_the_end_of_a_function(void **state)
{
	assert_true(arch_is_context_end(context_end, 4 * BYTES));
	assert_true(arch_is_context_end(context_end + BYTES, 3 * BYTES));
	assert_false(arch_is_context_end(context_end, 3 * BYTES));
	assert_false(arch_is_context_end(others, 5 * BYTES));
}

/* Addresses have 48 or 52 bits; 39 or 42 with some configurations of the kernel. */
static void the_mask_keeps_the_bits_of_addresses(void **state)
{
	uint64_t mask = arch_code_mask(), here = (uint64_t)(uintptr_t)arch_code_mask;

	assert_int_equal(here & mask, here);
	assert_int_equal(mask & ((1ULL << 39) - 1), (1ULL << 39) - 1);
	assert_int_equal(mask & 1ULL << 55, 0);
}

static void registers_of_ptrace_are_in_the_order_of_dwarf(void **state)
{
	struct user_regs_struct u = { .sp = 310, .pc = 320, .pstate = 5 }, back;
	uint64_t regs[UREG_COUNT];

	for (unsigned int i = 0; i < 31; i++)
		u.regs[i] = i + 1;
	arch_registers(&u, regs);
	assert_int_equal(regs[0], 1);
	assert_int_equal(regs[UREG_FP], 30);
	assert_int_equal(regs[UREG_RA], 31);
	assert_int_equal(regs[UREG_SP], 310);
	assert_int_equal(regs[UREG_PC], 320);
	arch_user_registers(regs, 0, &back);
	u.pstate = 0;
	assert_memory_equal(&back, &u, sizeof(u));
}

TEST_GROUP(test_code_arm64, TEST(direct_jumps_lead_to_their_target),
	   TEST(direct_calls_lead_to_their_target), TEST(other_instructions_have_no_target),
	   TEST(a_stub_jumps_through_its_slot), TEST(a_load_by_another_register_is_no_stub),
	   TEST(a_restorer_loads_the_number_of_its_system_call),
	   TEST(the_bottom_of_a_context_is_the_end_of_a_function),
	   TEST(the_mask_keeps_the_bits_of_addresses),
	   TEST(registers_of_ptrace_are_in_the_order_of_dwarf))
