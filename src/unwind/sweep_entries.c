/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions in assembly are often leaves that start with any instruction at all, so their own code
 * does not show where they start, but the code with CFI that calls them does. That code is not
 * decoded: of its bytes, those that would be a call, a jump or a load of an address count if they
 * lead to an aligned address in a gap. A gap of 64 KiB is a sixty-thousandth of what 32 bits reach,
 * and a sixteenth of it is aligned, so other bytes hardly ever do.
 *
 * Compilers also copy pairs of addresses from data to tables of functions: a quarter of x265's
 * functions in assembly are known from relocations only. But data has addresses within functions
 * as well (computed gotos), so a pointer counts only if what precedes is padding or an end, and if
 * the code that follows does not need words on the stack.
 */
#include "unwind/sweep_entries.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/x86_insn.h"
#include "unwind/sweep_lookahead.h"

enum {
	SURELY_CODE = 8,          /* instructions in a row that decode */
	REFERRING_MAX = 64 << 20, /* bytes of code outside of the gaps that are searched */
	REX_W = 0x48,
	REX_WR = 0x4c,
	OPCODE_LEA = 0x8d,
	OPCODE_CALL = 0xe8,
	OPCODE_JUMP = 0xe9,
	LEA_BYTES = 7,
	INT3 = 0xcc,
	NOP = 0x90,
	RET = 0xc3,
	MODRM_RIP = 0x05, /* without the bits of the register */
	MODRM_RIP_MASK = 0xc7,
};

bool unwind_sweep_looks_like_code(const struct unwind_sweep_gap *g, size_t at)
{
	struct x86_insn insn;

	for (unsigned int n = 0; n < SURELY_CODE; n++, at += insn.len)
		if (at >= g->len || !unwind_sweep_decode(g, at, &insn) || insn.kind == X86_TRAP)
			return false;
	return true;
}

static void begin(struct unwind_sweep *sw, uint64_t vaddr)
{
	struct unwind_sweep_state *at = unwind_sweep_state_at(sw, vaddr);

	if (at) {
		*at = UNWIND_SWEEP_ENTERED;
		at->start = 1;
	}
}

static void begin_at_symbols(struct unwind_sweep *sw, const struct elf_image *img)
{
	for (unsigned int source = ELF_SYMTAB; source <= ELF_DYNSYM; source <<= 1) {
		struct elf_rawsyms syms;

		if (elf_rawsyms_open(img, source, &syms) < 0)
			continue;
		for (size_t i = 0; i < syms.n; i++) {
			struct elf_rawsym sym;

			elf_rawsyms_get(&syms, i, &sym);
			if (sym.shndx != SHN_UNDEF &&
			    (sym.type == STT_FUNC || sym.type == STT_GNU_IFUNC))
				begin(sw, sym.vaddr);
		}
	}
}

/*
 * Marks the functions that the dynamic loader calls: those of the compiler's start files have
 * neither CFI nor symbols.
 */
static void begin_at_arrays(struct unwind_sweep *sw, const struct elf_image *img)
{
	static const char *const names[] = { ".init_array", ".fini_array" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct elf_span array;
		uint64_t vaddr;

		if (elf_image_section(img, names[i], &array) < 0)
			continue;
		for (size_t at = 0; at + sizeof(vaddr) <= array.len; at += sizeof(vaddr)) {
			memcpy(&vaddr, array.data + at, sizeof(vaddr));
			begin(sw, vaddr);
		}
	}
}

/* Marks a function at @vaddr, where a reference leads, if there is aligned code in a gap. */
static void begin_at_reference(struct unwind_sweep *sw, uint64_t vaddr)
{
	const struct unwind_sweep_gap *g;

	if (vaddr % UNWIND_SWEEP_ALIGN)
		return;
	g = unwind_sweep_gap_at(sw, vaddr);
	if (g && unwind_sweep_looks_like_code(g, (size_t)(vaddr - g->vaddr)))
		begin(sw, vaddr);
}

/* The length of what precedes the 32-bit distance to another place; 0: @p is no such code. */
static size_t distance_at(const uint8_t *p)
{
	if (p[0] == OPCODE_CALL || p[0] == OPCODE_JUMP)
		return 1;
	if ((p[0] == REX_W || p[0] == REX_WR) && p[1] == OPCODE_LEA &&
	    (p[2] & MODRM_RIP_MASK) == MODRM_RIP)
		return 3;
	return 0;
}

/* True if the code before @at ends or is padding, as before a function. */
static bool begins_after_end(const struct unwind_sweep_gap *g, size_t at)
{
	uint8_t before = at ? g->code[at - 1] : INT3;

	return before == INT3 || before == NOP || before == RET || before == 0;
}

/*
 * Marks the function whose address the code at @at loads. Code in gaps also loads addresses within
 * functions (computed gotos), but hardly ever those of aligned code after padding.
 */
static void begin_at_address(struct unwind_sweep *sw, const struct unwind_sweep_gap *from,
			     size_t at)
{
	const struct unwind_sweep_gap *g;
	uint64_t target;
	int32_t distance;

	if (from->len - at < LEA_BYTES || distance_at(from->code + at) != LEA_BYTES - 4)
		return;
	memcpy(&distance, from->code + at + LEA_BYTES - 4, sizeof(distance));
	target = from->vaddr + at + LEA_BYTES + (uint64_t)(int64_t)distance;
	g = unwind_sweep_gap_at(sw, target);
	if (g && begins_after_end(g, (size_t)(target - g->vaddr)))
		begin_at_reference(sw, target);
}

/* Marks the functions that the code in the gaps calls, or whose addresses it loads. */
static void begin_at_code_of_gaps(struct unwind_sweep *sw)
{
	for (size_t i = 0; i < sw->gaps.len; i++) {
		const struct unwind_sweep_gap *g = &sw->gaps.data[i];
		struct x86_insn insn;

		for (size_t at = 0, len; at < g->len; at += len) {
			len = unwind_sweep_padding(g, at);
			if (len)
				continue;
			len = 1;
			if (!unwind_sweep_decode(g, at, &insn))
				continue;
			len = insn.len;
			if (insn.kind == X86_CALL && insn.value)
				begin(sw, g->vaddr + at + insn.len + (uint64_t)(int64_t)insn.value);
			else
				begin_at_address(sw, g, at);
		}
	}
}

/* ---- references from outside of the gaps ---- */

static void begin_at_references_of(struct unwind_sweep *sw, const struct elf_span *code)
{
	const struct unwind_sweep_gap *first = &sw->gaps.data[0];
	const struct unwind_sweep_gap *last = &sw->gaps.data[sw->gaps.len - 1];
	const uint64_t lo = first->vaddr, len = last->vaddr + last->len - lo;
	int32_t distance;

	for (size_t at = 0; at + 3 + sizeof(distance) <= code->len; at++) {
		size_t n = distance_at(code->data + at);
		uint64_t target;

		if (!n)
			continue;
		memcpy(&distance, code->data + at + n, sizeof(distance));
		target = code->vaddr + at + n + sizeof(distance) + (uint64_t)(int64_t)distance;
		/* code in a gap jumps within its functions, also to aligned loops */
		if (target - lo < len && !unwind_sweep_gap_at(sw, code->vaddr + at))
			begin_at_reference(sw, target);
	}
}

static void begin_at_code(struct unwind_sweep *sw, const struct elf_image *img)
{
	const struct elf_segment *segments;
	size_t n = elf_image_segments(img, &segments);
	uint64_t left = REFERRING_MAX;
	struct elf_span code;

	for (size_t i = 0; i < n; i++) {
		const struct elf_segment *s = &segments[i];

		if (!s->exec || s->filesz > left ||
		    elf_image_at_vaddr(img, s->vaddr, s->filesz, &code) < 0)
			continue;
		left -= s->filesz;
		begin_at_references_of(sw, &code);
	}
}

/* True if the code at @vaddr returns to an address that is not at rsp there. */
static bool needs_words(struct unwind_sweep *sw, uint64_t vaddr)
{
	struct unwind_lookahead a = { .sw = sw };
	struct unwind_sweep_state s;

	return unwind_lookahead_find(&a, vaddr, &s) && (s.depth || s.rsp_moved);
}

/* Marks the functions whose addresses the dynamic loader writes into data. */
static void begin_at_pointers(struct unwind_sweep *sw, const struct elf_image *img)
{
	struct elf_span relocations;
	Elf64_Rela rela;

	if (elf_image_section(img, ".rela.dyn", &relocations) < 0)
		return;
	for (size_t at = 0; at + sizeof(rela) <= relocations.len; at += sizeof(rela)) {
		const struct unwind_sweep_gap *g;
		uint64_t vaddr;

		memcpy(&rela, relocations.data + at, sizeof(rela));
		vaddr = (uint64_t)rela.r_addend;
		if (ELF64_R_TYPE(rela.r_info) != R_X86_64_RELATIVE)
			continue;
		g = unwind_sweep_gap_at(sw, vaddr);
		if (g && begins_after_end(g, (size_t)(vaddr - g->vaddr)) && !needs_words(sw, vaddr))
			begin_at_reference(sw, vaddr);
	}
}

void unwind_sweep_begin_functions(struct unwind_sweep *sw, const struct elf_image *img)
{
	begin_at_code_of_gaps(sw);
	begin_at_symbols(sw, img);
	begin_at_arrays(sw, img);
	begin_at_pointers(sw, img);
	if (sw->referenced)
		begin_at_code(sw, img);
}
