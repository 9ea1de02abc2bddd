/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/unwind/go_code.c */
#include "unwind/go.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/err.h"
#include "elf/image.h"
#include "tests/x86_64.h"

/*
 * A program of one function with a given name, code and stack depths, in the format of Go 1.20, for
 * the processor of the build.
 */
enum {
	BASE = 0x400000,
	NOTE = 0x100,
	TABLE = 0x200,
	NAMES = 0x60,
	VALUES = 0xa0,
	FUNCS = 0xc0,
	MODULE = 0x400,
	TEXT = 0x600,
	FUNC = TEXT + 0x20,
	FUNC_LEN = 0x80,
	FILE_LEN = 0x800,
};

struct program {
	uint8_t bytes[FILE_LEN];
	struct unwind_rows rows;
	uint64_t lo, hi;
};

static void put32(struct program *p, size_t at, uint32_t v)
{
	memcpy(p->bytes + at, &v, sizeof(v));
}

static void put64(struct program *p, size_t at, uint64_t v)
{
	memcpy(p->bytes + at, &v, sizeof(v));
}

static void put_headers(struct program *p)
{
	static const uint8_t note[] = "\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0id\0";
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = ARCH_ELF_MACHINE,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr ph[] = {
		{ .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = FILE_LEN, .p_memsz = FILE_LEN },
		{ .p_type = PT_NOTE, .p_vaddr = BASE + NOTE, .p_offset = NOTE, .p_filesz = 20 },
	};

	memcpy(p->bytes, &eh, sizeof(eh));
	memcpy(p->bytes + sizeof(eh), ph, sizeof(ph));
	memcpy(p->bytes + NOTE, note, sizeof(note) - 1);
}

static void put_table(struct program *p, const char *name)
{
	static const uint32_t parts[] = { NAMES, VALUES, VALUES, VALUES, FUNCS };
	size_t record = TABLE + FUNCS + 0x40;

	put32(p, TABLE, 0xfffffff1);
	p->bytes[TABLE + 6] = ARCH_CODE_ALIGN;
	p->bytes[TABLE + 7] = 8;
	put64(p, TABLE + 8, 1);
	for (size_t i = 0; i < 5; i++)
		put64(p, TABLE + 32 + i * 8, parts[i]);
	strncpy((char *)p->bytes + TABLE + NAMES + 8, name, 40);
	put32(p, TABLE + FUNCS, FUNC - TEXT);
	put32(p, TABLE + FUNCS + 4, 0x40);
	put32(p, TABLE + FUNCS + 8, FUNC - TEXT + FUNC_LEN);
	put32(p, record, FUNC - TEXT);
	put32(p, record + 4, 8);
	put32(p, record + 16, 8);
	put64(p, MODULE, BASE + TABLE);
	put64(p, MODULE + 17 * 8, 2);
	put64(p, MODULE + 20 * 8, BASE + FUNC);
	put64(p, MODULE + 21 * 8, BASE + FUNC + FUNC_LEN);
	put64(p, MODULE + 22 * 8, BASE + TEXT);
	put64(p, MODULE + 40 * 8, BASE + TEXT);
}

/* The depth of @len instructions; on x86-64 of bytes. */
struct depth {
	uint8_t len;
	int32_t depth;
};

static size_t put_varint(struct program *p, size_t at, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		p->bytes[at++] = (uint8_t)(v | 0x80);
	p->bytes[at++] = (uint8_t)v;
	return at;
}

/* @depths ends with length 0; the code is followed by int3 up to FUNC_LEN. */
static void build(struct program *p, const char *name, const char *code, size_t code_len,
		  const struct depth *depths)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct err err = { 0 };
	int last = -1;
	size_t at = TABLE + VALUES + 8;

	*p = (struct program){ 0 };
	put_headers(p);
	put_table(p, name);
	memset(p->bytes + FUNC, 0xcc, FUNC_LEN);
	memcpy(p->bytes + FUNC, code, code_len);
	for (; depths->len; depths++) {
		int delta = depths->depth - last;

		at = put_varint(p, at, (uint32_t)(delta < 0 ? -delta * 2 - 1 : delta * 2));
		at = put_varint(p, at, depths->len);
		last = depths->depth;
	}
	assert_int_equal(elf_image_from_memory(&img, p->bytes, sizeof(p->bytes), NULL), 0);
	if (unwind_go_rows(&p->rows, img, &p->lo, &p->hi, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
}

#define BUILD(p, name, code, ...)                                                                  \
	build(p, name, code, sizeof(code) - 1, (const struct depth[]){ __VA_ARGS__, { 0, 0 } })

static const struct unwind_rule *at(const struct program *p, uint64_t off)
{
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct unwind_rule *rule = &none;

	for (size_t i = 0; i < p->rows.len && p->rows.data[i].file_off <= FUNC + off; i++)
		rule = unwind_rows_rule(&p->rows, i);
	return rule;
}

static void check(const struct program *p, uint64_t off, uint8_t cfa, int32_t cfa_off,
		  bool saves_rbp)
{
	const struct unwind_rule *r = at(p, off);

	assert_int_equal(r->cfa, cfa);
	assert_int_equal(r->cfa_off, cfa_off);
	assert_int_equal(r->ra_off, -8);
	assert_int_equal(r->fp, saves_rbp ? UNWIND_SAVED_CFA : UNWIND_SAVED_SAME);
	assert_int_equal(r->fp_off, saves_rbp ? -16 : 0);
}

static void a_leaf_has_its_return_address_on_top(void **state)
{
	struct program p;

	BUILD(&p, "main.hot", "\x90\x90\xc3", { 3, 0 });
	check(&p, 0, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 2, UNWIND_CFA_SP_OFF, 8, false);
	assert_int_equal(at(&p, 0)->aux, UNWIND_SAVED_UNDEF);
	assert_int_equal(at(&p, 3)->cfa, UNWIND_CFA_NONE);
	assert_int_equal(p.lo, FUNC);
	assert_int_equal(p.hi, FUNC + 3);
	unwind_rows_fini(&p.rows);
}

static void rbp_is_saved_by_the_push_that_begins_a_frame(void **state)
{
	struct program p;

	/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; add $16,%rsp; pop %rbp; ret */
	BUILD(&p, "main.f", "\x55\x48\x89\xe5\x48\x83\xec\x10\x48\x83\xc4\x10\x5d\xc3", { 1, 0 },
	      { 7, 8 }, { 4, 24 }, { 1, 8 }, { 1, 0 });
	check(&p, 0, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 1, UNWIND_CFA_SP_OFF, 16, true);
	check(&p, 8, UNWIND_CFA_SP_OFF, 32, true);
	check(&p, 12, UNWIND_CFA_SP_OFF, 16, true);
	check(&p, 13, UNWIND_CFA_SP_OFF, 8, false);
	unwind_rows_fini(&p.rows);
}

static void rbp_is_saved_after_the_store_of_older_frames(void **state)
{
	struct program p;

	/* sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp */
	BUILD(&p, "main.f", "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\xc3",
	      { 4, 0 }, { 11, 24 });
	check(&p, 4, UNWIND_CFA_SP_OFF, 32, false);
	check(&p, 9, UNWIND_CFA_SP_OFF, 32, true);
	unwind_rows_fini(&p.rows);
}

static void assembler_that_only_pushes_keeps_rbp(void **state)
{
	struct program p;

	BUILD(&p, "crypto.block", "\x41\x55\x90\x41\x5d\xc3", { 2, 0 }, { 3, 8 }, { 1, 0 });
	check(&p, 2, UNWIND_CFA_SP_OFF, 16, false);
	unwind_rows_fini(&p.rows);
}

static void outermost_functions_end_the_walk(void **state)
{
	static const char *const names[] = { "runtime.goexit", "runtime.mstart", "runtime.rt0_go",
					     "_rt0_amd64_linux" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct program p;

		BUILD(&p, names[i], "\x90\xc3", { 2, 0 });
		assert_int_equal(at(&p, 0)->cfa, UNWIND_CFA_END);
		assert_int_equal(at(&p, 1)->cfa, UNWIND_CFA_END);
		unwind_rows_fini(&p.rows);
	}
}

static void a_function_called_by_a_handler_is_marked(void **state)
{
	static const char *const names[] = { "runtime.asyncPreempt", "runtime.sigpanic",
					     "runtime.sigpanic0", "runtime.debugCallV2" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct program p;

		BUILD(&p, names[i], "\x55\x90\x5d\xc3", { 1, 0 }, { 2, 8 }, { 1, 0 });
		check(&p, 2, UNWIND_CFA_SP_OFF, 16, false);
		assert_int_equal(at(&p, 0)->cfa_reg, UNWIND_INJECTED);
		assert_int_equal(at(&p, 2)->cfa_reg, UNWIND_INJECTED);
		unwind_rows_fini(&p.rows);
	}
}

static void a_function_that_leaves_its_stack_ends_the_walk_from_there(void **state)
{
	struct program p;

	/* nop; mov 0x38(%r14),%rsp; call */
	BUILD(&p, "runtime.mcall", "\x90\x49\x8b\x66\x38\xe8\x00\x00\x00\x00", { 10, 0 });
	check(&p, 1, UNWIND_CFA_SP_OFF, 8, false);
	assert_int_equal(at(&p, 5)->cfa, UNWIND_CFA_END);
	unwind_rows_fini(&p.rows);
}

static void systemstack_is_unwound_by_its_frame_pointer(void **state)
{
	struct program p;

	/* push %rbp; mov %rsp,%rbp; mov 0x38(%rdx),%rsp; call *%rdi; pop %rbp; ret */
	BUILD(&p, "runtime.systemstack", "\x55\x48\x89\xe5\x48\x8b\x62\x38\xff\xd7\x5d\xc3",
	      { 1, 0 }, { 10, 8 }, { 1, 0 });
	check(&p, 1, UNWIND_CFA_SP_OFF, 16, true);
	check(&p, 4, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 10, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 11, UNWIND_CFA_SP_OFF, 8, false);
	unwind_rows_fini(&p.rows);
}

static void systemstack_without_a_frame_is_unwound_by_its_callers_frame(void **state)
{
	struct program p;

	/* mov 0x38(%rdx),%rsp; call *%rdi; mov 0x38(%rax),%rsp; ret */
	BUILD(&p, "runtime.systemstack", "\x48\x8b\x62\x38\xff\xd7\x48\x8b\x60\x38\xc3", { 11, 0 });
	check(&p, 0, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 4, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 9, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 10, UNWIND_CFA_SP_OFF, 8, false);
	unwind_rows_fini(&p.rows);
}

static void old_clock_functions_save_rsp_in_rbp(void **state)
{
	struct program p;

	/*
	 * sub $16,%rsp; mov %rbp,8(%rsp); lea 8(%rsp),%rbp; mov %rsp,%rbp; nop; mov %rbp,%rsp; ret
	 */
	BUILD(&p, "runtime.nanotime1",
	      "\x48\x83\xec\x10\x48\x89\x6c\x24\x08\x48\x8d\x6c\x24\x08\x48\x89\xe5\x90\x48\x89\xec"
	      "\xc3"
	      "\x90",
	      { 4, 0 }, { 19, 16 });
	check(&p, 14, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 17, UNWIND_CFA_FP_OFF, 24, true);
	check(&p, 21, UNWIND_CFA_SP_OFF, 24, true);
	check(&p, 22, UNWIND_CFA_FP_OFF, 24, true);
	unwind_rows_fini(&p.rows);
}

/* mov %rsp,%rdx; mov 0x38(%rsi),%rsp; mov %rdi,G(%rsp); mov %rdi,G-8(%rsp); call; mov %rsi,%rsp */
#define ASMCGOCALL(g, depth)                                                                       \
	"\x48\x89\xe2\x48\x8b\x66\x38\x48\x89\x7c\x24" g "\x48\x89\x7c\x24" depth                  \
	"\xff\xd0\x48\x89\xf4"

static void check_asmcgocall(const struct program *p, uint64_t off, int32_t cfa_off,
			     int16_t cfa_add)
{
	const struct unwind_rule *r = at(p, off);

	assert_int_equal(r->cfa, UNWIND_CFA_GO_ASMCGOCALL);
	assert_int_equal(r->cfa_off, cfa_off);
	assert_int_equal(r->cfa_add, cfa_add);
	assert_int_equal(r->ra_off, -8);
}

static void asmcgocall_leads_back_to_its_goroutine(void **state)
{
	struct program p;

	/* the second part: mov %rsp,%rdx; mov %rdx,40(%rsp); call; mov %rsi,%rsp; ret */
	BUILD(&p, "runtime.asmcgocall",
	      ASMCGOCALL("\x30",
			 "\x28") "\xc3\x48\x89\xe2\x48\x89\x54\x24\x28\xff\xd0\x48\x89\xf4\xc3",
	      { 37, 0 });
	check(&p, 6, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 7, UNWIND_CFA_REG, 8, false);
	assert_int_equal(at(&p, 7)->cfa_reg, 1);
	check_asmcgocall(&p, 17, 48, 8);
	check_asmcgocall(&p, 21, 48, 8);
	check(&p, 22, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 26, UNWIND_CFA_REG, 8, false);
	check_asmcgocall(&p, 31, 48, 8);
	check(&p, 36, UNWIND_CFA_SP_OFF, 8, false);
	unwind_rows_fini(&p.rows);
}

static void asmcgocall_with_a_frame_uses_it_where_the_stack_stays(void **state)
{
	struct program p;

	BUILD(&p, "runtime.asmcgocall",
	      "\x55\x48\x89\xe5" ASMCGOCALL("\x08", "\x00") "\x5d\xc3\x90\x5d\xc3", { 1, 0 },
	      { 26, 8 }, { 1, 0 }, { 2, 8 }, { 1, 0 });
	check(&p, 1, UNWIND_CFA_SP_OFF, 16, true);
	check_asmcgocall(&p, 21, 8, 16);
	assert_int_equal(at(&p, 21)->fp, UNWIND_SAVED_CFA);
	check(&p, 26, UNWIND_CFA_SP_OFF, 16, true);
	check(&p, 27, UNWIND_CFA_SP_OFF, 8, false);
	check(&p, 28, UNWIND_CFA_FP_OFF, 16, true);
	check(&p, 30, UNWIND_CFA_SP_OFF, 8, false);
	unwind_rows_fini(&p.rows);
}

static void crosscall2_saves_rbx_for_c(void **state)
{
	struct program p;

	/* sub $48,%rsp; mov %rbp,40(%rsp); mov %rbx,(%rsp); nop */
	BUILD(&p, "crosscall2", "\x48\x83\xec\x30\x48\x89\x6c\x24\x28\x48\x89\x1c\x24\x90",
	      { 4, 0 }, { 10, 48 });
	assert_int_equal(at(&p, 0)->aux, UNWIND_SAVED_SAME);
	check(&p, 13, UNWIND_CFA_SP_OFF, 56, true);
	assert_int_equal(at(&p, 9)->aux, UNWIND_SAVED_SAME);
	assert_int_equal(at(&p, 13)->aux, UNWIND_SAVED_CFA);
	assert_int_equal(at(&p, 13)->aux_off, -56);
	unwind_rows_fini(&p.rows);
}

static void the_signal_frame_begins_a_byte_early(void **state)
{
	struct program p;

	BUILD(&p, "runtime.sigreturn__sigaction", "\x0f\x05", { 2, 0 });
	assert_int_equal(p.rows.data[0].file_off, FUNC - 1);
	assert_int_equal(unwind_rows_rule(&p.rows, 0)->cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(unwind_rows_rule(&p.rows, 0)->cfa_off, 0);
	unwind_rows_fini(&p.rows);
}

static void a_popped_return_address_is_in_its_register(void **state)
{
	struct program p;

	/* pop %r12; syscall; push %r12; ret */
	BUILD(&p, "syscall.rawVforkSyscall", "\x41\x5c\x0f\x05\x41\x54\xc3", { 2, 0 }, { 4, -8 },
	      { 1, 0 });
	assert_int_equal(at(&p, 2)->cfa, UNWIND_CFA_SP_RA_REG);
	assert_int_equal(at(&p, 2)->cfa_off, 0);
	assert_int_equal(at(&p, 2)->cfa_reg, 12);
	check(&p, 6, UNWIND_CFA_SP_OFF, 8, false);
	assert_int_equal(p.rows.n_unsupported, 0);
	unwind_rows_fini(&p.rows);
}

static void other_negative_depths_are_unsupported(void **state)
{
	struct program p;

	BUILD(&p, "main.odd", "\x90\x90\x90\x90", { 2, -16 }, { 2, 0 });
	assert_int_equal(at(&p, 0)->cfa, UNWIND_CFA_NONE);
	check(&p, 2, UNWIND_CFA_SP_OFF, 8, false);
	assert_int_equal(p.rows.n_unsupported, 1);
	unwind_rows_fini(&p.rows);
}

static void a_file_without_go_has_no_rows(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct program p = { 0 };
	struct err err = { 0 };
	uint64_t lo, hi;

	put_headers(&p);
	assert_int_equal(elf_image_from_memory(&img, p.bytes, sizeof(p.bytes), NULL), 0);
	assert_int_equal(unwind_go_rows(&rows, img, &lo, &hi, &err), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_int_equal(rows.len, 0);
}

TEST_GROUP_OF_X86_64(test_go, TEST(a_leaf_has_its_return_address_on_top),
		     TEST(rbp_is_saved_by_the_push_that_begins_a_frame),
		     TEST(rbp_is_saved_after_the_store_of_older_frames),
		     TEST(assembler_that_only_pushes_keeps_rbp),
		     TEST(outermost_functions_end_the_walk),
		     TEST(a_function_called_by_a_handler_is_marked),
		     TEST(a_function_that_leaves_its_stack_ends_the_walk_from_there),
		     TEST(systemstack_is_unwound_by_its_frame_pointer),
		     TEST(systemstack_without_a_frame_is_unwound_by_its_callers_frame),
		     TEST(old_clock_functions_save_rsp_in_rbp),
		     TEST(asmcgocall_leads_back_to_its_goroutine),
		     TEST(asmcgocall_with_a_frame_uses_it_where_the_stack_stays),
		     TEST(crosscall2_saves_rbx_for_c), TEST(the_signal_frame_begins_a_byte_early),
		     TEST(a_popped_return_address_is_in_its_register),
		     TEST(other_negative_depths_are_unsupported),
		     TEST(a_file_without_go_has_no_rows))

#ifdef __aarch64__
/* The code does not matter there: the rules come from the depths and the name. */
static void build_link(struct program *p, const char *name, int32_t depth)
{
	const struct depth depths[] = { { 2, 0 }, { 4, depth }, { 2, 0 }, { 0, 0 } };

	build(p, name, "", 0, depths);
}

#define ASSERT_RULE(p, insn, ...)                                                                  \
	do {                                                                                       \
		const struct unwind_rule want_ = { __VA_ARGS__ };                                  \
		assert_memory_equal(at(p, (insn)*4), &want_, sizeof(want_));                       \
	} while (0)
#define LEAF .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_RA, .aux = UNWIND_SAVED_UNDEF

static void a_return_address_is_in_x30_until_there_is_a_frame(void **state)
{
	struct program p;

	build_link(&p, "main.outer", 48);
	ASSERT_RULE(&p, 0, LEAF);
	/* str x30, [sp, #-48]! was executed, stur x29, [sp, #-8] was not */
	ASSERT_RULE(&p, 2, .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 48, .ra_off = -48,
		    .aux = UNWIND_SAVED_UNDEF);
	ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 48, .ra_off = -48,
		    .fp = UNWIND_SAVED_CFA, .fp_off = -56, .aux = UNWIND_SAVED_UNDEF);
	ASSERT_RULE(&p, 6, LEAF);
	assert_int_equal(at(&p, FUNC_LEN)->cfa, UNWIND_CFA_NONE);
	unwind_rows_fini(&p.rows);
}

/* The handler pushes x30 of the interrupted function, in a frame of 16 bytes. */
static void an_injected_call_has_a_larger_frame(void **state)
{
	struct program p;

	build_link(&p, "runtime.sigpanic", 32);
	ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_SP_OFF, .cfa_reg = UNWIND_INJECTED, .cfa_off = 48,
		    .ra_off = -48, .fp = UNWIND_SAVED_CFA, .fp_off = -56,
		    .aux = UNWIND_SAVED_UNDEF);
	unwind_rows_fini(&p.rows);
}

static void functions_that_switch_stacks_have_frame_pointers(void **state)
{
	static const char *const names[] = { "runtime.systemstack", "runtime.asmcgocall",
					     "runtime.cgocallback", "runtime.nanotime1" };
	struct program p;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		build_link(&p, names[i], 16);
		ASSERT_RULE(&p, 0, LEAF);
		ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_FP);
		unwind_rows_fini(&p.rows);
	}
}

static void a_frame_too_large_for_a_rule_is_passed_by_its_pointer(void **state)
{
	struct program p;

	build_link(&p, "main.large", 32000);
	assert_int_equal(at(&p, 3 * 4)->ra_off, -32000);
	unwind_rows_fini(&p.rows);
	build_link(&p, "main.larger", 32016);
	ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_FP);
	unwind_rows_fini(&p.rows);
}

static void crosscall2_saves_the_frame_record_at_the_end_of_its_frame(void **state)
{
	struct program p;

	build_link(&p, "crosscall2", 192);
	ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 192, .ra_off = -8,
		    .fp = UNWIND_SAVED_CFA, .fp_off = -16, .aux = UNWIND_SAVED_UNDEF);
	unwind_rows_fini(&p.rows);
}

static void the_bottom_of_a_stack_ends_the_walk(void **state)
{
	static const char *const names[] = { "runtime.goexit", "runtime.mstart", "runtime.mcall",
					     "_rt0_arm64_linux" };
	struct program p;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		build_link(&p, names[i], 16);
		ASSERT_RULE(&p, 0, .cfa = UNWIND_CFA_END);
		ASSERT_RULE(&p, 3, .cfa = UNWIND_CFA_END);
		unwind_rows_fini(&p.rows);
	}
}

TEST_GROUP(test_go_arm64, TEST(a_return_address_is_in_x30_until_there_is_a_frame),
	   TEST(an_injected_call_has_a_larger_frame),
	   TEST(functions_that_switch_stacks_have_frame_pointers),
	   TEST(a_frame_too_large_for_a_rule_is_passed_by_its_pointer),
	   TEST(crosscall2_saves_the_frame_record_at_the_end_of_its_frame),
	   TEST(the_bottom_of_a_stack_ends_the_walk))
#endif
