/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_fcontext() prepares a stack that ends in the same function. jump_fcontext() stores the
 * registers in a frame, moves rsp to the frame of another coroutine, and restores what that one
 * stored. Both frames are laid out alike, so the code has one frame throughout: first of the
 * old coroutine, then of the new one. ontop_fcontext() does the same and calls
 * a function there. None of them has CFI, and programs that link them statically have no symbols
 * for them.
 */
#include "unwind/fcontext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/x86_insn.h"
#include "unwind/special_ranges.h"

enum {
	TEXT_MAX = 8 << 20, /* bytes of a segment that is searched */
	BEFORE_MAX = 96,    /* bytes of the function before it moves rsp; Boost 1.74 has 49 */
	AFTER_MAX = 128,    /* bytes after that; 57 */
	SWITCHES_MAX = 4,
	LOAD_LEN = 5, /* bytes of mov N(%rsp),%reg */
	R8 = 8,       /* the register with the address to which jump_fcontext() jumps */
};

static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };

/* mov %rsp,%rax; mov %rdi,%rsp */
static const uint8_t move_stack[] = { 0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc };

/* A function that switches stacks: offsets in the code that contains it. */
struct stack_switch {
	size_t start;
	size_t framed; /* the frame exists from here on */
	size_t moved;  /* rsp is that of the other stack */
	size_t freed;  /* the frame is removed */
	size_t end;
	int32_t frame;           /* bytes without the return address */
	int32_t fp_at, aux_at;   /* where in the frame rbp and rbx are; 0: not found */
	int32_t ra_at;           /* where the return address is that is jumped to */
	bool has_return_address; /* it remains on the stack after the frame was removed */
};

/* Finds lea -N(%rsp),%rsp before @at, and what may precede it. */
static bool find_frame(const uint8_t *code, size_t at, struct stack_switch *s)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x64, 0x24 };
	static const uint8_t target[] = { 0x49, 0x89, 0xd0 }; /* mov %rdx,%r8 */
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	enum { LEA_LEN = sizeof(lea) + 1 };

	for (size_t n = LEA_LEN; n <= BEFORE_MAX && n <= at; n++) {
		if (memcmp(code + at - n, lea, sizeof(lea)) != 0)
			continue;
		s->start = at - n;
		s->framed = s->start + LEA_LEN;
		s->frame = -(int8_t)code[s->start + sizeof(lea)];
		if (s->start >= sizeof(target) &&
		    !memcmp(code + s->start - sizeof(target), target, sizeof(target)))
			s->start -= sizeof(target);
		if (s->start >= sizeof(endbr) &&
		    !memcmp(code + s->start - sizeof(endbr), endbr, sizeof(endbr)))
			s->start -= sizeof(endbr);
		return s->frame > 0 && !(s->frame & 7);
	}
	return false;
}

/* Notes where the frame has the register that mov N(%rsp),%reg loads. */
static void note_load(const uint8_t *insn, struct stack_switch *s)
{
	static const uint8_t load_fp[] = { 0x48, 0x8b, 0x6c, 0x24 };
	static const uint8_t load_aux[] = { 0x48, 0x8b, 0x5c, 0x24 };
	static const uint8_t load_r8[] = { 0x4c, 0x8b, 0x44, 0x24 };

	if (!memcmp(insn, load_fp, sizeof(load_fp)))
		s->fp_at = insn[sizeof(load_fp)];
	if (!memcmp(insn, load_aux, sizeof(load_aux)))
		s->aux_at = insn[sizeof(load_aux)];
	if (!memcmp(insn, load_r8, sizeof(load_r8)))
		s->ra_at = insn[sizeof(load_r8)];
}

/* Reads the code from s->moved to the jump. Returns false if it is not that of such a function. */
static bool read_restoring(const uint8_t *code, size_t len, struct stack_switch *s)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0xe0 }; /* jmp *%r8 */
	struct x86_insn insn;
	size_t at = s->moved;

	while (at < len && x86_decode(code + at, len - at, &insn)) {
		if (insn.len == LOAD_LEN && !s->freed)
			note_load(code + at, s);
		if (insn.kind == X86_JUMP_INDIRECT) {
			s->end = at + insn.len;
			return s->freed && insn.len == sizeof(jump) &&
			       !memcmp(code + at, jump, sizeof(jump));
		}
		at += insn.len;
		if (insn.kind == X86_RSP_ADD && !s->freed) {
			s->freed = at;
			s->has_return_address = insn.value == s->frame;
			if (!s->has_return_address &&
			    (insn.value != s->frame + 8 || s->ra_at != s->frame))
				return false;
		} else if (insn.kind != X86_OTHER && insn.kind != X86_RBP_LOST) {
			return false;
		}
	}
	return false;
}

static void add_switch(struct unwind_special_code *k, uint64_t base, const struct stack_switch *s)
{
	const int16_t to_frame = (int16_t)(s->frame + 8);
	const struct unwind_rule outer = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .ra_off = -8 };
	const struct unwind_rule jumps = { .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = R8 };
	struct unwind_rule inner = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = to_frame, .ra_off = -8 };

	unwind_special_code_add(k, base + s->start, base + s->framed, outer);
	unwind_special_code_add(k, base + s->framed, base + s->moved, inner);
	inner.fp = inner.aux = UNWIND_SAVED_CFA;
	inner.fp_off = (int16_t)(s->fp_at - to_frame);
	inner.aux_off = (int16_t)(s->aux_at - to_frame);
	unwind_special_code_add(k, base + s->moved, base + s->freed, inner);
	unwind_special_code_add(k, base + s->freed, base + s->end,
				s->has_return_address ? outer : jumps);
}

static void find_switches(struct unwind_special_code *k, const struct elf_span *code)
{
	const uint8_t *next = code->data, *end = code->data + code->len, *at;

	for (int i = 0; i < SWITCHES_MAX; i++) {
		struct stack_switch s = { 0 };
		size_t off, len;

		at = memmem(next, (size_t)(end - next), move_stack, sizeof(move_stack));
		if (!at)
			return;
		off = (size_t)(at - code->data);
		next = at + sizeof(move_stack);
		s.moved = off + sizeof(move_stack);
		len = code->len - s.moved < AFTER_MAX ? code->len : s.moved + AFTER_MAX;
		if (find_frame(code->data, off, &s) && read_restoring(code->data, len, &s) &&
		    s.fp_at && s.aux_at)
			add_switch(k, code->file_off, &s);
	}
}

/*
 * Finds the end of make_fcontext() in a file that does not export it: push %rbp; jmp *%rbx, with
 * which the coroutine begins, and xor %rdi,%rdi; call _exit; hlt, to which it would return.
 */
static bool find_end(struct unwind_special_code *k, const struct elf_span *code)
{
	static const uint8_t begin[] = { 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8 };
	enum { LEN = sizeof(begin) + 5, CALL_LEN = 4, HLT = 0xf4 };
	const uint8_t *at;
	uint64_t off;

	if (code->len < LEN)
		return false;
	at = memmem(code->data, code->len - (LEN - sizeof(begin)), begin, sizeof(begin));
	if (!at || at[sizeof(begin) + CALL_LEN] != HLT)
		return false;
	off = code->file_off + (uint64_t)(at - code->data);
	unwind_special_code_add(k, off, off + LEN, rule_end);
	return true;
}

void unwind_fcontext_find(struct unwind_special_code *k, const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_rawsym sym;
	struct elf_span code;
	uint64_t off;
	bool is_exported = elf_gnuhash_lookup(img, "make_fcontext", &sym) == 0 && sym.size &&
			   elf_image_offset_of(img, sym.vaddr, &off) == 0;

	if (is_exported)
		unwind_special_code_add(k, off, off + sym.size, rule_end);
	for (size_t i = 0; i < n; i++)
		if (segs[i].exec && segs[i].filesz && segs[i].filesz <= TEXT_MAX &&
		    elf_image_at_vaddr(img, segs[i].vaddr, (size_t)segs[i].filesz, &code) == 0 &&
		    (is_exported || find_end(k, &code)))
			find_switches(k, &code);
}
