/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "tests/unit/unwind/code_file.h"
#include "tests/x86_64.h"
#include "unwind/rows.h"

enum { LOST = -1 };

struct swept {
	struct elf_image *img;
	struct unwind_sweep sw;
	struct unwind_rows rows;
	struct code_file file;
};

static void swept_fini(struct swept *s)
{
	unwind_rows_fini(&s->rows);
	unwind_sweep_fini(&s->sw);
	elf_image_free(s->img);
}

static void swept_init(struct swept *s, const char *code, size_t len)
{
	code_file_open(&s->file, code, len, &s->img);
}

static void run(struct swept *s, size_t len, bool whole)
{
	assert_int_equal(
		unwind_sweep_add_gap(&s->sw, s->img, offsetof(struct code_file, code), len, whole),
		0);
	assert_int_equal(unwind_sweep_run(&s->sw, s->img), 0);
	assert_int_equal(unwind_sweep_rows(&s->sw, &s->rows), 0);
}

static void sweep(struct swept *s, const char *code, size_t len, bool whole)
{
	swept_init(s, code, len);
	run(s, len, whole);
}

#define SWEEP(s, code, whole) sweep(s, code, sizeof(code) - 1, whole)

static struct unwind_rule rule_at(const struct swept *s, size_t at)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_NONE };

	for (size_t i = 0; i < s->rows.len; i++) {
		if (s->rows.data[i].file_off <= offsetof(struct code_file, code) + at)
			rule = *unwind_rows_rule(&s->rows, i);
	}
	return rule;
}

/* Expects the CFA at @at to be rsp + @off. */
static void assert_rsp(const struct swept *s, size_t at, int off)
{
	struct unwind_rule rule = rule_at(s, at);

	assert_int_equal(rule.cfa, off == LOST ? UNWIND_CFA_NONE : UNWIND_CFA_SP_OFF);
	if (off != LOST)
		assert_int_equal(rule.cfa_off, off);
}

static void follows_pushes_and_an_early_return(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x55"             /* 0 push %rbp */
	      "\x53"             /* 1 push %rbx */
	      "\x48\x83\xec\x18" /* 2 sub $24,%rsp */
	      "\x74\x07"         /* 6 je 15 */
	      "\x48\x83\xc4\x18" /* 8 add $24,%rsp */
	      "\x5b\x5d\xc3"     /* 12 pop %rbx; pop %rbp; ret */
	      "\x31\xc0"         /* 15 xor %eax,%eax */
	      "\xeb\xf5",        /* 17 jmp 8 */
	      true);
	assert_rsp(&s, 0, 8);
	assert_rsp(&s, 1, 16);
	assert_rsp(&s, 6, 48);
	assert_int_equal(rule_at(&s, 6).fp, UNWIND_SAVED_CFA);
	assert_int_equal(rule_at(&s, 6).fp_off, -16);
	assert_int_equal(rule_at(&s, 6).aux_off, -24);
	assert_rsp(&s, 12, 24);
	assert_rsp(&s, 14, 8);
	assert_int_equal(rule_at(&s, 14).fp, UNWIND_SAVED_SAME);
	assert_rsp(&s, 15, 48);
}

static void a_frame_pointer_holds_where_rsp_is_lost(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x55\x48\x89\xe5" /* 0 push %rbp; mov %rsp,%rbp */
	      "\x53"             /* 4 push %rbx */
	      "\x48\x29\xc4"     /* 5 sub %rax,%rsp */
	      "\x90"             /* 8 */
	      "\x48\x8d\x65\xf8" /* 9 lea -8(%rbp),%rsp */
	      "\x5b\x5d\xc3",    /* 13 pop %rbx; pop %rbp; ret */
	      true);
	assert_int_equal(rule_at(&s, 8).cfa, UNWIND_CFA_FP_OFF);
	assert_int_equal(rule_at(&s, 8).cfa_off, 16);
	assert_rsp(&s, 15, 8);
}

static void a_frame_pointer_may_be_set_after_other_pushes(void **state)
{
	static const char code[] =
		"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc" /* 0 int3, which aligns the function */
		"\x41\x57\x41\x56\x53"             /* 8 push %r15; push %r14; push %rbx */
		"\x55\x48\x89\xe5"                 /* 13 push %rbp; mov %rsp,%rbp */
		"\x48\x83\xe4\xc0"                 /* 17 and $-64,%rsp */
		"\x48\x89\xec\x5d"                 /* 21 mov %rbp,%rsp; pop %rbp */
		"\x5b\x41\x5e\x41\x5f\xc3";        /* 25 pop %rbx, %r14, %r15; ret */
	_cleanup_(swept_fini) struct swept s = { 0 };

	/* four registers saved at once: that is a function, with CFI all around it or not */
	sweep(&s, code, sizeof(code) - 1, false);
	assert_rsp(&s, 13, 32);
	assert_int_equal(rule_at(&s, 21).cfa, UNWIND_CFA_FP_OFF);
	assert_int_equal(rule_at(&s, 21).cfa_off, 40);
	assert_int_equal(rule_at(&s, 21).fp_off, -40);
	assert_int_equal(rule_at(&s, 21).aux_off, -32);
	assert_int_equal(rule_at(&s, 24).cfa_off, 40);
	assert_rsp(&s, 25, 32);
	assert_rsp(&s, 30, 8);
}

static void knows_nothing_after_rsp_is_lost(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x53"             /* 0 push %rbx */
	      "\x48\x83\xe4\xf0" /* 1 and $-16,%rsp */
	      "\x31\xc0"         /* 5 xor %eax,%eax */
	      "\xc3",            /* 7 ret */
	      true);
	assert_rsp(&s, 1, 16);
	assert_rsp(&s, 5, LOST);
	assert_rsp(&s, 7, LOST);
}

static void where_rsp_is_aligned_the_old_one_leads_up(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };
	struct unwind_rule rule;

	SWEEP(&s,
	      "\x55"                          /* 0 push %rbp */
	      "\x49\x89\xe2"                  /* 1 mov %rsp,%r10 */
	      "\x48\x83\xe4\xe0"              /* 4 and $-32,%rsp */
	      "\x48\x83\xec\x40"              /* 8 sub $64,%rsp */
	      "\x4c\x89\x54\x24\x20"          /* 12 mov %r10,32(%rsp) */
	      "\x48\x89\xe5"                  /* 17 mov %rsp,%rbp */
	      "\x50"                          /* 20 push %rax */
	      "\x58"                          /* 21 pop %rax */
	      "\x48\x8b\x64\x24\x20\x5d\xc3", /* 22 mov 32(%rsp),%rsp; pop %rbp; ret */
	      true);
	assert_rsp(&s, 1, 16);
	rule = rule_at(&s, 8);
	assert_int_equal(rule.cfa, UNWIND_CFA_REG);
	assert_int_equal(rule.cfa_reg, 10);
	assert_int_equal(rule.cfa_off, 16);
	rule = rule_at(&s, 20);
	assert_int_equal(rule.cfa, UNWIND_CFA_SP_DEREF);
	assert_int_equal(rule.cfa_off, 32);
	assert_int_equal(rule.cfa_add, 16);
	assert_int_equal(rule.fp_off, -16);
	assert_int_equal(rule_at(&s, 21).cfa_off, 40);
	assert_int_equal(rule_at(&s, 22).cfa_off, 32);
	assert_rsp(&s, 27, 16);
	assert_rsp(&s, 28, 8);
}

static void a_register_may_keep_the_old_rsp_until_the_end(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x48\x89\xe6"                         /* 0 mov %rsp,%rsi */
	      "\x48\x83\xe4\xc0"                     /* 3 and $-64,%rsp */
	      "\x48\x83\xec\x40"                     /* 7 sub $64,%rsp */
	      "\x48\x89\xf4\xc3"                     /* 11 mov %rsi,%rsp; ret */
	      "\xcc\xcc\x48\x89\xe6\x48\x83\xe4\xc0" /* 15 the same */
	      "\x48\x89\xfc\xc3",                    /* 24 mov %rdi,%rsp; ret */
	      true);
	assert_int_equal(rule_at(&s, 11).cfa, UNWIND_CFA_REG);
	assert_int_equal(rule_at(&s, 11).cfa_reg, 4);
	assert_rsp(&s, 14, 8);
	assert_rsp(&s, 27, LOST);
}

/* As OpenBLAS's kernels for matrices, which reserve an aligned buffer. */
static void rbx_may_keep_the_rsp_from_before_a_buffer(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };
	struct unwind_rule rule;

	SWEEP(&s,
	      "\x48\x83\xec\x60"             /* 0 sub $96,%rsp */
	      "\x48\x89\x1c\x24"             /* 4 mov %rbx,(%rsp) */
	      "\x48\x89\x6c\x24\x08"         /* 8 mov %rbp,8(%rsp) */
	      "\x48\x89\xe3"                 /* 13 mov %rsp,%rbx */
	      "\x48\x81\xec\x80\x70\x00\x00" /* 16 sub $28800,%rsp */
	      "\x48\x81\xe4\x00\xf0\xff\xff" /* 23 and $-4096,%rsp */
	      "\x31\xed"                     /* 30 xor %ebp,%ebp */
	      "\x48\x89\xdc"                 /* 32 mov %rbx,%rsp */
	      "\x48\x8b\x1c\x24"             /* 35 mov (%rsp),%rbx */
	      "\x48\x8b\x6c\x24\x08"         /* 39 mov 8(%rsp),%rbp */
	      "\x48\x83\xc4\x60\xc3",        /* 44 add $96,%rsp; ret */
	      true);
	for (uint64_t at = 16; at <= 32; at += 16) {
		rule = rule_at(&s, at);
		assert_int_equal(rule.cfa, UNWIND_CFA_AUX_OFF);
		assert_int_equal(rule.cfa_off, 104);
		assert_int_equal(rule.fp_off, -96);
		assert_int_equal(rule.aux_off, -104);
	}
	assert_rsp(&s, 35, 104);
	assert_int_equal(rule_at(&s, 35).fp_off, -96);
	assert_rsp(&s, 48, 8);
	assert_int_equal(rule_at(&s, 48).fp, UNWIND_SAVED_SAME);
}

/* As 7-Zip's search for matches. */
static void rsp_may_be_aligned_in_another_register(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x55"                         /* 0 push %rbp */
	      "\x48\x89\xe0"                 /* 1 mov %rsp,%rax */
	      "\x48\x8d\x58\xc0"             /* 4 lea -64(%rax),%rbx */
	      "\x48\x83\xe3\xc0"             /* 8 and $-64,%rbx */
	      "\x48\x89\xdc"                 /* 12 mov %rbx,%rsp */
	      "\x48\x89\x44\x24\x38"         /* 15 mov %rax,56(%rsp) */
	      "\x31\xc0"                     /* 20 xor %eax,%eax */
	      "\x48\x8b\x64\x24\x38\x5d\xc3" /* 22 mov 56(%rsp),%rsp; pop %rbp; ret */
	      "\xcc\xcc\x48\x89\xe0\x48\x83\xe0\xc0\x48\x89\xc4\xc3", /* 29 only in %rax; ret */
	      true);
	assert_int_equal(rule_at(&s, 4).cfa, UNWIND_CFA_REG);
	assert_int_equal(rule_at(&s, 15).cfa, UNWIND_CFA_REG);
	assert_int_equal(rule_at(&s, 15).cfa_off, 16);
	assert_int_equal(rule_at(&s, 20).cfa, UNWIND_CFA_SP_DEREF);
	assert_int_equal(rule_at(&s, 20).cfa_off, 56);
	assert_int_equal(rule_at(&s, 20).cfa_add, 16);
	assert_rsp(&s, 27, 16);
	assert_rsp(&s, 28, 8);
	assert_rsp(&s, 38, LOST);
}

static void code_behind_a_call_that_never_returns_is_another_function(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x53"                 /* 0 push %rbx */
	      "\x48\x83\xec\x10"     /* 1 sub $16,%rsp */
	      "\xe8\x07\x00\x00\x00" /* 5 call 17, which has no return */
	      "\x55"                 /* 10 push %rbp */
	      "\x31\xc0"             /* 11 xor %eax,%eax */
	      "\x5d\xc3"             /* 13 pop %rbp; ret */
	      "\xcc\xcc"             /* 15 */
	      "\x50"                 /* 17 push %rax */
	      "\xeb\xfe",            /* 18 jmp 18 */
	      true);
	assert_rsp(&s, 5, 32);
	assert_rsp(&s, 10, 8);
	assert_rsp(&s, 11, 16);
	assert_rsp(&s, 17, 8);
	assert_rsp(&s, 18, 16);
}

static void an_aligned_prologue_behind_a_call_is_another_function(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	_Static_assert((offsetof(struct code_file, code) + 8) % UNWIND_SWEEP_ALIGN == 0, "");
	SWEEP(&s,
	      "\x53\x31\xc0"         /* 0 push %rbx; xor %eax,%eax */
	      "\xe8\x00\x01\x00\x00" /* 3 call elsewhere, which does not return */
	      "\x55"                 /* 8 push %rbp */
	      "\xe8\x00\x01\x00\x00" /* 9 call elsewhere */
	      "\x5d\xc3",            /* 14 pop %rbp; ret */
	      true);
	assert_rsp(&s, 3, 16);
	assert_rsp(&s, 8, 8);
	assert_rsp(&s, 9, 16);
	assert_rsp(&s, 15, 8);
}

static void nothing_follows_a_function_that_is_known_not_to_return(void **state)
{
	static const char code[] = "\x53\x31\xc0"         /* 0 push %rbx; xor %eax,%eax */
				   "\xe8\xf8\x00\x00\x00" /* 3 call 256 */
				   "\x31\xff"             /* 8 xor %edi,%edi */
				   "\xe8\x00\x01\x00\x00" /* 10 call elsewhere */
				   "\xc3";                /* 15 ret */

	for (unsigned int known = 0; known < 2; known++) {
		_cleanup_(swept_fini) struct swept s = { 0 };
		uint64_t vaddr;

		swept_init(&s, code, sizeof(code) - 1);
		assert_int_equal(
			elf_image_vaddr_of(s.img, offsetof(struct code_file, code), &vaddr), 0);
		if (known)
			assert_int_equal(vec_push(&s.sw.no_return, vaddr + 256), 0);
		run(&s, sizeof(code) - 1, true);
		assert_rsp(&s, 3, 16);
		assert_rsp(&s, 8, known ? 8 : 16);
		assert_rsp(&s, 15, 8);
	}
}

static void code_after_a_call_may_be_forgotten_while_it_is_pending_twice(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xe8\x01\x00\x00\x00\xcc" /* 0 call 6 */
	      "\x53\x74\x0a"             /* 6 push %rbx; je 19 */
	      "\x48\x89\xc4"             /* 9 mov %rax,%rsp */
	      "\xff\xd0"                 /* 12 call *%rax: first reached with an unknown state */
	      "\xff\xc8\x75\xfc\xc3"     /* 14 dec %eax; jne 14; ret */
	      "\xeb\xf7",                /* 19 jmp 12 */
	      true);
	assert_rsp(&s, 12, 16);
	assert_rsp(&s, 14, 8);
	assert_rsp(&s, 18, 8);
}

static void a_table_of_jumps_leads_to_code_among_other_things(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xe8\x01\x00\x00\x00\xcc" /* 0 call 6 */
	      "\x48\x83\xec\x18"         /* 6 sub $24,%rsp */
	      "\xff\xe0"                 /* 10 jmp *%rax */
	      "\x31\xc0"                 /* 12 xor %eax,%eax */
	      "\x48\x83\xc4\x18"         /* 14 add $24,%rsp */
	      "\xc3"                     /* 18 ret */
	      "\xeb\xf7"                 /* 19 jmp 12 */
	      "\x31\xc0"                 /* 21 xor %eax,%eax */
	      "\xeb\xf3",                /* 23 jmp 12 */
	      false);
	assert_rsp(&s, 12, 32);
	assert_rsp(&s, 18, 8);
	assert_rsp(&s, 19, 32);
	assert_rsp(&s, 21, 32);
}

static void the_state_of_a_function_is_known_if_functions_have_one_frame(void **state)
{
	static const char code[] = "\xe8\x01\x00\x00\x00\xcc" /* 0 call 6 */
				   "\x48\x83\xec\x18"         /* 6 sub $24,%rsp */
				   "\xff\xe0"                 /* 10 jmp *%rax */
				   "\x31\xc0\x31\xc0\x31\xc0" /* 12 xor %eax,%eax, ... */
				   "\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0"
				   "\x0f\x0b"          /* 28 ud2 */
				   "\xcc\xcc"          /* 30 */
				   "\x48\x83\xec\x08"  /* 32 sub $8,%rsp */
				   "\x0f\x0b"          /* 36 ud2 */
				   "\x31\xc0\x0f\x0b"; /* 38 xor %eax,%eax; ud2 */
	_cleanup_(swept_fini) struct swept one = { 0 };
	_cleanup_(swept_fini) struct swept any = { 0 };

	swept_init(&one, code, sizeof(code) - 1);
	one.sw.one_frame = true;
	run(&one, sizeof(code) - 1, true);
	assert_rsp(&one, 12, 32);
	assert_rsp(&one, 26, 32);
	assert_rsp(&one, 32, 8);
	assert_rsp(&one, 36, 16);
	assert_rsp(&one, 38, LOST); /* too short to be recognized as code */
	SWEEP(&any, code, true);
	assert_rsp(&any, 10, 32);
	assert_rsp(&any, 12, LOST);
}

#define XOR_8 "\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0\x31\xc0"

static void jumps_by_tables_have_the_state_of_their_targets(void **state)
{
	static const char code[] = "\xe8\x01\x00\x00\x00\xcc" /* 0 call 6 */
				   "\x48\x83\xec\x18"         /* 6 sub $24,%rsp */
				   "\x48\x01\xc8"             /* 10 add %rcx,%rax */
				   "\xff\xe0"                 /* 13 jmp *%rax */
		XOR_8 "\xff\xe2"                              /* 15 ...; 31 jmp *%rdx */
		XOR_8 "\xff\xe2"                              /* 33 ...; 49 jmp *%rdx */
				   "\xcc\xcc\xcc\xcc\xcc"     /* 51: another function may follow */
		XOR_8 "\xff\xe2";                             /* 56 ...; 72 jmp *%rdx */
	_cleanup_(swept_fini) struct swept by_table = { 0 };
	_cleanup_(swept_fini) struct swept plain = { 0 };
	char other[sizeof(code)];

	SWEEP(&by_table, code, true);
	assert_rsp(&by_table, 15, 32);
	assert_rsp(&by_table, 31, 32);
	assert_rsp(&by_table, 33, 32);
	assert_rsp(&by_table, 56, LOST);
	memcpy(other, code, sizeof(code));
	other[14] = '\xe2'; /* jmp *%rdx */
	sweep(&plain, other, sizeof(code) - 1, true);
	assert_rsp(&plain, 13, 32);
	assert_rsp(&plain, 15, LOST);
}

static void jumps_by_tables_must_agree(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xe8\x01\x00\x00\x00\xcc" /* 0 call 6 */
	      "\x48\x01\xc8"             /* 6 add %rcx,%rax */
	      "\x84\xc0\x74\x02"         /* 9 test %al,%al; je 15 */
	      "\xff\xe0"                 /* 13 jmp *%rax */
	      "\x48\x83\xec\x18"         /* 15 sub $24,%rsp */
	      "\xff\xe0"                 /* 19 jmp *%rax */
	      XOR_8 "\xff\xe2",          /* 21 ...; 37 jmp *%rdx */
	      true);
	assert_rsp(&s, 19, 32);
	assert_rsp(&s, 21, LOST);
}

static void a_function_returns_if_the_one_that_it_jumps_to_does(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x53"                 /* 0 push %rbx */
	      "\xe8\x05\x00\x00\x00" /* 1 call 11 */
	      "\x31\xc0\x0f\x0b"     /* 6 xor %eax,%eax; ud2: shows no state by itself */
	      "\xcc"                 /* 10 */
	      "\xeb\x07\xcc"         /* 11 jmp 20 */
	      "\xe8\x01\x00\x00\x00" /* 14 call 20: a function begins there */
	      "\xcc\x31\xc0\xc3",    /* 20 xor %eax,%eax; ret */
	      true);
	assert_rsp(&s, 1, 16);
	assert_rsp(&s, 6, 16);
	assert_rsp(&s, 11, 8);
}

static void a_function_after_an_indirect_jump_is_found(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\x53\x5b\xff\xe0"                          /* 0 push %rbx; pop %rbx; jmp *%rax */
	      "\xcc\xcc\xcc\xcc\xcc\xcc"                  /* 4 */
	      "\xcc\xcc\xcc\xcc\xcc\xcc\x53\x5b\xff\xe0", /* 16 the same */
	      true);
	assert_rsp(&s, 2, 8);
	assert_rsp(&s, 16, 8);
	assert_rsp(&s, 17, 16);
}

static void lazy_plt_entries_count_what_they_push(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xff\x35\x00\x10\x00\x00" /* 0 push GOT[1] */
	      "\xff\x25\x00\x10\x00\x00" /* 6 jmp *GOT[2] */
	      "\x0f\x1f\x40\x00"         /* 12 nop */
	      "\xff\x25\x00\x10\x00\x00" /* 16 jmp *GOT[3] */
	      "\x68\x00\x00\x00\x00"     /* 22 push $0 */
	      "\xe9\xe0\xff\xff\xff",    /* 27 jmp 0 */
	      false);
	assert_rsp(&s, 0, 16);
	assert_rsp(&s, 6, 24);
	assert_rsp(&s, 16, 8);
	assert_rsp(&s, 22, 8);
	assert_rsp(&s, 27, 16);
}

static void between_functions_with_cfi_only_what_is_called_is_code(void **state)
{
	static const char code[] = "\x55"                 /* 0 push %rbp */
				   "\xe8\x03\x00\x00\x00" /* 1 call 9 */
				   "\x5d\xc3\x90"         /* 6 pop %rbp; ret */
				   "\x53\x5b\xc3";        /* 9 push %rbx; pop %rbx; ret */
	_cleanup_(swept_fini) struct swept some = { 0 };
	_cleanup_(swept_fini) struct swept all = { 0 };

	sweep(&some, code, sizeof(code) - 1, false);
	assert_rsp(&some, 1, LOST);
	assert_rsp(&some, 10, 16);
	sweep(&all, code, sizeof(code) - 1, true);
	assert_rsp(&all, 1, 16);
	assert_rsp(&all, 10, 16);
}

/* Free Pascal fills with zeros; decoded as code, the last one would swallow a prologue. */
static void a_function_begins_after_an_odd_number_of_zeros(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xe8\x0b\x00\x00\x00" /* 0 call 16 */
	      "\xc3"                 /* 5 ret */
	      "\xe8\x03\x00\x00\x00" /* 6 call 14, in the zeros */
	      "\x00\x00\x00\x00\x00" /* 11 */
	      "\x53"                 /* 16 push %rbx */
	      "\x48\x83\x3f\x00"     /* 17 cmpq $0,(%rdi) */
	      "\x5b"                 /* 21 pop %rbx */
	      "\xc3",                /* 22 ret */
	      true);
	assert_rsp(&s, 16, 8);
	assert_rsp(&s, 17, 16);
	assert_rsp(&s, 22, 8);
}

/* A single zero is not padding: it decodes together with the function that follows. */
static void no_instruction_extends_into_a_function(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s,
	      "\xe8\x02\x00\x00\x00" /* 0 call 7 */
	      "\xc3"                 /* 5 ret */
	      "\x00"                 /* 6 */
	      "\x53"                 /* 7 push %rbx */
	      "\x48\x83\x3f\x00"     /* 8 cmpq $0,(%rdi) */
	      "\x5b"                 /* 12 pop %rbx */
	      "\xc3",                /* 13 ret */
	      true);
	assert_rsp(&s, 7, 8);
	assert_rsp(&s, 8, 16);
	assert_rsp(&s, 13, 8);
}

static void omits_padding_and_excessive_code(void **state)
{
	_cleanup_(swept_fini) struct swept s = { 0 };

	SWEEP(&s, "\xcc\xcc\x90\x0f\x1f\x00\x66\x90", true);
	assert_int_equal(s.sw.gaps.len, 0);
	assert_int_equal(s.rows.len, 0);
	s.sw.n_bytes = UNWIND_SWEEP_MAX;
	assert_int_equal(
		unwind_sweep_add_gap(&s.sw, s.img, offsetof(struct code_file, ph), 16, false), 0);
	assert_int_equal(s.sw.gaps.len, 0);
}

TEST_GROUP_OF_X86_64(test_sweep, TEST(follows_pushes_and_an_early_return),
		     TEST(a_frame_pointer_holds_where_rsp_is_lost),
		     TEST(a_frame_pointer_may_be_set_after_other_pushes),
		     TEST(knows_nothing_after_rsp_is_lost),
		     TEST(where_rsp_is_aligned_the_old_one_leads_up),
		     TEST(rsp_may_be_aligned_in_another_register),
		     TEST(a_register_may_keep_the_old_rsp_until_the_end),
		     TEST(rbx_may_keep_the_rsp_from_before_a_buffer),
		     TEST(code_behind_a_call_that_never_returns_is_another_function),
		     TEST(an_aligned_prologue_behind_a_call_is_another_function),
		     TEST(nothing_follows_a_function_that_is_known_not_to_return),
		     TEST(code_after_a_call_may_be_forgotten_while_it_is_pending_twice),
		     TEST(a_table_of_jumps_leads_to_code_among_other_things),
		     TEST(the_state_of_a_function_is_known_if_functions_have_one_frame),
		     TEST(jumps_by_tables_have_the_state_of_their_targets),
		     TEST(jumps_by_tables_must_agree),
		     TEST(a_function_returns_if_the_one_that_it_jumps_to_does),
		     TEST(a_function_after_an_indirect_jump_is_found),
		     TEST(lazy_plt_entries_count_what_they_push),
		     TEST(between_functions_with_cfi_only_what_is_called_is_code),
		     TEST(a_function_begins_after_an_odd_number_of_zeros),
		     TEST(no_instruction_extends_into_a_function),
		     TEST(omits_padding_and_excessive_code))
