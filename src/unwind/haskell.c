/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/haskell.h"

#include <string.h>

#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/x86_insn.h"
#include "unwind/rows.h"

enum {
	RESERVED = 16384,
	SAVED = 6 * 8, /* rbx, rbp, r12 to r15, from low to high addresses */
	FRAME = RESERVED + SAVED + 8,
	STG_RUN_MAX = 32, /* bytes between the row in StgRun() and the end of STG_RETURN */
	CALL_MAX = 64,    /* instructions from sub $N,%rsp to add $N,%rsp */
	MOVED_MAX = 1 << 16,
};

/* The rule while rsp is @moved bytes below where it is in Haskell code. */
static struct unwind_rule rule_moved(int32_t moved)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_SP_OFF,
				     .cfa_off = FRAME + moved,
				     .ra_off = -8,
				     .fp = UNWIND_SAVED_CFA,
				     .fp_off = -SAVED,
				     .aux = UNWIND_SAVED_CFA,
				     .aux_off = -SAVED - 8 };
}

/*
 * StgRun() jumps to Haskell, which returns to the next instruction: jmp *%rax; mov %rbx,%rax;
 * add $16384,%rsp.
 */
static bool is_stg_run(const struct elf_image *img, uint64_t off)
{
	static const uint8_t stg_return[] = { 0xff, 0xe0, 0x48, 0x89, 0xd8, 0x48,
					      0x81, 0xc4, 0x00, 0x40, 0x00, 0x00 };
	struct elf_span code;

	return elf_image_at_offset(img, off, STG_RUN_MAX, &code) == 0 &&
	       memmem(code.data, code.len, stg_return, sizeof(stg_return));
}

/* True if the file defines or imports what the code of every lazy value refers to. */
static bool uses_runtime(const struct elf_image *img)
{
	static const char wanted[] = "stg_upd_frame_info";
	struct elf_rawsyms syms;
	struct elf_rawsym sym;
	const char *name;

	if (elf_rawsyms_open(img, ELF_DYNSYM, &syms) < 0)
		return false;
	for (size_t i = 0; i < syms.n; i++) {
		elf_rawsyms_get(&syms, i, &sym);
		if (elf_rawsyms_name(&syms, sym.name_off, sizeof(wanted), &name) ==
			    sizeof(wanted) - 1 &&
		    !memcmp(name, wanted, sizeof(wanted) - 1))
			return true;
	}
	return false;
}

bool unwind_is_haskell(const struct elf_image *img, const struct unwind_rows *rows)
{
	if (uses_runtime(img))
		return true;
	for (size_t i = 0; i < rows->len; i++) {
		const struct unwind_rule *rule = unwind_rows_rule(rows, i);

		if (rule->cfa == UNWIND_CFA_SP_OFF && rule->cfa_off == FRAME &&
		    is_stg_run(img, rows->data[i].file_off))
			return true;
	}
	return false;
}

static bool moves_rsp(const struct x86_insn *insn)
{
	return insn->kind != X86_OTHER && insn->kind != X86_CALL &&
	       insn->kind != X86_CALL_INDIRECT && insn->kind != X86_STORE &&
	       insn->kind != X86_RBP_LOST && insn->kind != X86_REG_FROM_RSP;
}

/*
 * Follows a call's code, which begins with sub $N,%rsp at @at, and may push arguments. Returns the
 * offset after add $M,%rsp, which undoes that; 0 if the code is anything else, or moves rsp by
 * more than MOVED_MAX.
 */
static size_t call_end(const struct elf_span *code, size_t at)
{
	struct x86_insn insn = { 0 };
	bool called = false;
	int64_t moved = 0;

	for (unsigned int n = 0; n < CALL_MAX; n++, at += insn.len) {
		if (at >= code->len || !x86_decode(code->data + at, code->len - at, &insn))
			return 0;
		called |= insn.kind == X86_CALL || insn.kind == X86_CALL_INDIRECT;
		if (insn.kind == X86_PUSH)
			moved += 8;
		else if (insn.kind == X86_RSP_ADD)
			moved -= insn.value;
		else if (moves_rsp(&insn))
			return 0;
		if (moved > MOVED_MAX)
			return 0;
		if (moved <= 0)
			return called && !moved ? at + insn.len : 0;
	}
	return 0;
}

/* Puts the rows of a call's code, the code's [@at, @end). */
static int put_call(struct unwind_rows *out, size_t first, const struct elf_span *code, size_t at,
		    size_t end)
{
	struct x86_insn insn = { 0 };
	int32_t moved = 0;
	int r = 0;

	for (; !r && at < end && x86_decode(code->data + at, end - at, &insn); at += insn.len) {
		struct unwind_rule rule = rule_moved(moved);

		r = unwind_rows_put(out, first, code->file_off + at, &rule);
		if (insn.kind == X86_PUSH)
			moved += 8;
		else if (insn.kind == X86_RSP_ADD)
			moved -= insn.value;
	}
	return r;
}

/* True for sub $N,%rsp. */
static bool may_begin_call(const struct elf_span *code, size_t at)
{
	const uint8_t *p = code->data + at;

	return code->len - at >= 4 && p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) &&
	       p[2] == 0xec;
}

int unwind_haskell_rows(struct unwind_rows *out, const struct elf_image *img, uint64_t lo,
			uint64_t hi)
{
	const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE }, rule = rule_moved(0);
	size_t first = out->len;
	struct elf_span code;
	int r;

	if (elf_image_at_offset(img, lo, (size_t)(hi - lo), &code) < 0)
		return 0;
	r = unwind_rows_put(out, first, lo, &rule);
	for (size_t at = 0; !r && at < code.len; at++) {
		size_t end = may_begin_call(&code, at) ? call_end(&code, at) : 0;

		if (!end)
			continue;
		r = put_call(out, first, &code, at, end);
		r = r ? r : unwind_rows_put(out, first, lo + end, &rule);
		at = end - 1;
	}
	return r ? r : unwind_rows_put(out, first, hi, &none);
}
