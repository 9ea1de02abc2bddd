/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is a segment of code: jump_fcontext() with a small frame, and the end of
 * make_fcontext(). Offsets of the tests are those in the code.
 */
#include "unwind/fcontext.h"

#include <elf.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "tests/x86_64.h"
#include "unwind/special_ranges.h"

enum { FRAMED = 5, MOVED = 21, FREED = 41, JUMP = 44, END_AT = 44, CODE_LEN = 56, R8 = 8 };

static const uint8_t jump_code[CODE_LEN] = {
	0x48, 0x8d, 0x64, 0x24, 0xe8,                /* lea -24(%rsp),%rsp */
	0x48, 0x89, 0x5c, 0x24, 0x08,                /* mov %rbx,8(%rsp) */
	0x48, 0x89, 0x6c, 0x24, 0x10,                /* mov %rbp,16(%rsp) */
	0x48, 0x89, 0xe0,                            /* mov %rsp,%rax */
	0x48, 0x89, 0xfc,                            /* mov %rdi,%rsp */
	0x4c, 0x8b, 0x44, 0x24, 0x18,                /* mov 24(%rsp),%r8 */
	0x48, 0x8b, 0x5c, 0x24, 0x08,                /* mov 8(%rsp),%rbx */
	0x48, 0x8b, 0x6c, 0x24, 0x10,                /* mov 16(%rsp),%rbp */
	0x48, 0x8d, 0x64, 0x24, 0x20,                /* lea 32(%rsp),%rsp */
	0x41, 0xff, 0xe0,                            /* jmp *%r8 */
	0x55, 0xff, 0xe3,                            /* push %rbp; jmp *%rbx */
	0x48, 0x31, 0xff, 0xe8, 0,    0, 0, 0, 0xf4, /* xor %rdi,%rdi; call _exit; hlt */
};

struct program {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint8_t code[CODE_LEN];
};

static void find(struct unwind_special_code *k, const uint8_t *code, size_t len)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct program p = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct program, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1 },
		.ph = { .p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = offsetof(struct program, code),
			.p_vaddr = 0x1000,
			.p_filesz = len,
			.p_memsz = len },
	};

	memcpy(p.code, code, len);
	assert_int_equal(
		elf_image_from_memory(&img, &p, offsetof(struct program, code) + len, NULL), 0);
	*k = (struct unwind_special_code){ 0 };
	unwind_fcontext_find(k, img);
}

/* The rule at offset @at of the code; its cfa is UNWIND_CFA_NONE if there is none. */
static struct unwind_rule rule_at(const struct unwind_special_code *k, uint64_t at)
{
	uint64_t off = offsetof(struct program, code) + at;

	for (size_t i = 0; i < k->n; i++)
		if (off >= k->at[i].lo && off < k->at[i].hi)
			return k->at[i].rule;
	return (struct unwind_rule){ 0 };
}

static void expect_frame(const struct unwind_special_code *k, uint64_t at, int32_t cfa_off)
{
	struct unwind_rule rule = rule_at(k, at);

	assert_int_equal(rule.cfa, UNWIND_CFA_SP_OFF);
	assert_int_equal(rule.cfa_off, cfa_off);
	assert_int_equal(rule.ra_off, -8);
}

static void a_switch_has_one_frame_on_both_stacks(void **state)
{
	struct unwind_special_code k;
	struct unwind_rule rule;

	find(&k, jump_code, CODE_LEN);
	expect_frame(&k, 0, 8);
	expect_frame(&k, FRAMED, 32);
	assert_int_equal(rule_at(&k, FRAMED).fp, UNWIND_SAVED_SAME);
	expect_frame(&k, MOVED - 1, 32);
	assert_int_equal(rule_at(&k, MOVED - 1).fp, UNWIND_SAVED_SAME);
	expect_frame(&k, MOVED, 32);
	expect_frame(&k, FREED - 1, 32);
	rule = rule_at(&k, MOVED);
	assert_int_equal(rule.fp, UNWIND_SAVED_CFA);
	assert_int_equal(rule.fp_off, -16);
	assert_int_equal(rule.aux, UNWIND_SAVED_CFA);
	assert_int_equal(rule.aux_off, -24);
	rule = rule_at(&k, FREED);
	assert_int_equal(rule.cfa, UNWIND_CFA_SP_RA_REG);
	assert_int_equal(rule.cfa_reg, R8);
	assert_int_equal(rule.cfa_off, 0);
	assert_int_equal(rule_at(&k, JUMP).cfa, UNWIND_CFA_END);
}

static void a_function_called_on_top_returns_to_the_stack(void **state)
{
	uint8_t code[CODE_LEN];
	struct unwind_special_code k;

	memcpy(code, jump_code, CODE_LEN);
	code[FREED - 1] = 24; /* lea 24(%rsp),%rsp */
	find(&k, code, CODE_LEN);
	expect_frame(&k, FREED - 1, 32);
	expect_frame(&k, FREED, 8);
}

/* Changes one byte of the code. Returns the rule at MOVED. */
static int changed(size_t at, uint8_t byte)
{
	uint8_t code[CODE_LEN];
	struct unwind_special_code k;

	memcpy(code, jump_code, CODE_LEN);
	code[at] = byte;
	find(&k, code, CODE_LEN);
	return rule_at(&k, MOVED).cfa;
}

static void other_code_is_no_switch(void **state)
{
	assert_int_equal(changed(4, 0xe8), UNWIND_CFA_SP_OFF); /* unchanged */
	assert_int_equal(changed(4, 0xd0), UNWIND_CFA_NONE);   /* another frame than is removed */
	assert_int_equal(changed(4, 0x18), UNWIND_CFA_NONE);
	assert_int_equal(changed(20, 0xfd), UNWIND_CFA_NONE);       /* mov %rdi,%rbp */
	assert_int_equal(changed(25, 0x10), UNWIND_CFA_NONE);       /* another word is jumped to */
	assert_int_equal(changed(33, 0x64), UNWIND_CFA_NONE);       /* rbp is not restored */
	assert_int_equal(changed(JUMP - 1, 0xe1), UNWIND_CFA_NONE); /* jmp *%r9 */
	assert_int_equal(changed(END_AT, 0x53), UNWIND_CFA_NONE);   /* no make_fcontext() */
}

static void truncated_code_is_no_switch(void **state)
{
	uint8_t code[CODE_LEN];
	struct unwind_special_code k;

	/* the end of make_fcontext() first, so that the switch is what is truncated */
	memcpy(code, jump_code + END_AT, CODE_LEN - END_AT);
	memcpy(code + CODE_LEN - END_AT, jump_code, END_AT);
	for (size_t len = 1; len < CODE_LEN; len++) {
		find(&k, code, len);
		assert_true(k.n <= 1);
	}
	find(&k, code, CODE_LEN);
	assert_int_equal(k.n, 5);
}

TEST_GROUP_OF_X86_64(test_fcontext, TEST(a_switch_has_one_frame_on_both_stacks),
		     TEST(a_function_called_on_top_returns_to_the_stack),
		     TEST(other_code_is_no_switch), TEST(truncated_code_is_no_switch))
