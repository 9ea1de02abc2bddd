/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes code by its bytes or its symbol: where programs begin, and the pieces that linkers
 * take from crti.o and crtn.o.
 */
#include "unwind/special_code.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "bpf/arch/code.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/thread_start.h"
#include "elf/x86_insn.h"
#include "unwind/fcontext.h"

enum {
	ENTRY_MAX = 128, /* bytes of code at the entry point that are read */
	LIBC_TEXT_MAX =
		8 << 20, /* bytes of text of a C library, or of a program that contains one */
	LISP_ENTRY_MAX = 192,
	DESTRUCTORS_MAX = 64, /* bytes of __do_global_dtors_aux(), which has about 60 */
	FINI_ARRAY_MAX = 4096,
	SWITCH_MAX = 1024, /* bytes of slp_switch(), which has about 200 */
};

static const struct unwind_rule rule_end = { .cfa = UNWIND_CFA_END };

/* The number of bytes from @vaddr up to an instruction that nothing follows. */
static size_t straight_code(const struct elf_image *img, uint64_t vaddr)
{
	struct elf_span code = { 0 };
	struct x86_insn insn;
	size_t len = ENTRY_MAX, at = 0;

	while (len && elf_image_at_vaddr(img, vaddr, len, &code) < 0)
		len /= 2; /* it may be the last code of a small program */
	while (at < code.len && x86_decode(code.data + at, code.len - at, &insn)) {
		at += insn.len;
		if (insn.kind == X86_RET || insn.kind == X86_JUMP ||
		    insn.kind == X86_JUMP_INDIRECT || insn.kind == X86_TRAP)
			break;
	}
	return at;
}

static void entry_find(struct unwind_special_code *k, const struct elf_image *img)
{
	uint64_t start = elf_image_entry(img), off;

	if (elf_entry_is_start(img) && elf_image_offset_of(img, start, &off) == 0)
		unwind_special_code_add(k, off, off + straight_code(img, start), rule_end);
}

/*
 * .init and .fini, which the linker assembles from crti.o and crtn.o, have no CFI: sub $8,%rsp;
 * calls; add $8,%rsp; ret.
 */
static void init_fini_find(struct unwind_special_code *k, const struct elf_image *img,
			   const char *name)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t begin[] = { 0x48, 0x83, 0xec, 0x08 };
	static const uint8_t end[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	const struct unwind_rule outer = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .ra_off = -8 };
	const struct unwind_rule inner = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 16, .ra_off = -8 };
	struct elf_span s;
	size_t at = 0;

	if (elf_image_section(img, name, &s) < 0 || s.len < sizeof(endbr) + sizeof(begin))
		return;
	if (!memcmp(s.data, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	if (s.len < at + sizeof(begin) + sizeof(end) || memcmp(s.data + at, begin, sizeof(begin)) ||
	    memcmp(s.data + s.len - sizeof(end), end, sizeof(end)))
		return;
	at += sizeof(begin);
	unwind_special_code_add(k, s.file_off, s.file_off + at, outer);
	unwind_special_code_add(k, s.file_off + at, s.file_off + s.len - 1, inner);
	unwind_special_code_add(k, s.file_off + s.len - 1, s.file_off + s.len, outer);
}

/*
 * Where a call stores no return address on the stack, linkers write no CFI for a PLT: its stubs are
 * leaves. The code of lazy binding, at the beginning of .plt, pushes two words, the second of which
 * is the return address.
 */
static void plt_find(struct unwind_special_code *k, const struct elf_image *img, const char *name)
{
	const struct unwind_rule leaf = { .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_RA };
	const struct unwind_rule lazy = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 16, .ra_off = -8 };
	struct elf_span s;
	uint64_t header;

	if (elf_image_section(img, name, &s) < 0 || s.len <= ARCH_PLT_HEADER)
		return;
	header = arch_is_lazy_plt(s.data) ? ARCH_PLT_HEADER : 0;
	if (header) {
		unwind_special_code_add(k, s.file_off, s.file_off + ARCH_CODE_ALIGN, leaf);
		unwind_special_code_add(k, s.file_off + ARCH_CODE_ALIGN, s.file_off + header, lazy);
	}
	unwind_special_code_add(k, s.file_off + header, s.file_off + s.len, leaf);
}

/*
 * SBCL's function in assembly that calls Lisp: push %rbp; push %rbp; mov %rsp,%rbp makes the frame
 * of the Lisp function, which removes it when it returns. After the call, %rbp is that of the C
 * frame again, and Lisp may have a stack of its own. The rule holds up to `leave`.
 */
static void lisp_entry_find(struct unwind_special_code *k, const struct elf_image *img)
{
	static const uint8_t frame[] = { 0x55, 0x55, 0x48, 0x89, 0xe5 };
	static const uint8_t call[] = { 0xff, 0x50, 0xfd }; /* *-3(%rax) */
	enum { LEAVE = 0xc9, RBP_AT = -16, RBX_AT = -24 };
	const struct unwind_rule rule = { .cfa = UNWIND_CFA_FP_OFF,
					  .cfa_off = 16,
					  .ra_off = -8,
					  .fp = UNWIND_SAVED_CFA,
					  .fp_off = RBP_AT,
					  .aux = UNWIND_SAVED_CFA,
					  .aux_off = RBX_AT };
	const uint8_t *at, *end;
	struct elf_rawsym sym;
	struct elf_span code;

	if (elf_gnuhash_lookup(img, "call_into_lisp_", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, LISP_ENTRY_MAX, &code) < 0)
		return;
	at = memmem(code.data, code.len, frame, sizeof(frame));
	end = code.data + code.len;
	at = at ? memmem(at, (size_t)(end - at), call, sizeof(call)) : NULL;
	end = at ? memchr(at, LEAVE, (size_t)(end - at)) : NULL;
	if (end)
		unwind_special_code_add(k, code.file_off + (uint64_t)(at + 1 - code.data),
					code.file_off + (uint64_t)(end - code.data), rule);
}

/* The code from push %rbp to pop %rbp; ret, relative to the function that begins with @code. */
struct framed {
	size_t lo, hi;
};

/*
 * Recognizes __do_global_dtors_aux() of the compiler's start files: cmpb $0,completed(%rip); jne;
 * push %rbp; calls; pop %rbp; ret.
 */
static bool framed_find(const struct elf_span *code, struct framed *out)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t compare[] = { 0x80, 0x3d };
	size_t at = memcmp(code->data, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	struct x86_insn insn;

	out->lo = 0;
	if (memcmp(code->data + at, compare, sizeof(compare)) != 0)
		return false;
	for (; x86_decode(code->data + at, code->len - at, &insn); at += insn.len) {
		if (insn.kind == X86_PUSH && insn.reg == X86_RBP && !out->lo)
			out->lo = at + insn.len;
		else if (insn.kind == X86_POP && insn.reg == X86_RBP && out->lo)
			break;
		else if (insn.kind != X86_OTHER && insn.kind != X86_JUMP_IF &&
			 insn.kind != X86_CALL && insn.kind != X86_CALL_INDIRECT &&
			 insn.kind != X86_RBP_FROM_RSP)
			return false;
	}
	out->hi = at + 1; /* pop %rbp */
	return out->hi < code->len && code->data[out->hi] == 0xc3;
}

/* Finds the code of __do_global_dtors_aux() among the functions of .fini_array. */
static bool destructors_at(const struct elf_image *img, struct elf_span *out, struct framed *framed)
{
	struct elf_span array;
	uint64_t vaddr;

	if (elf_image_section(img, ".fini_array", &array) < 0)
		return false;
	for (size_t i = 0; i < FINI_ARRAY_MAX && i < array.len / sizeof(vaddr); i++) {
		memcpy(&vaddr, array.data + i * sizeof(vaddr), sizeof(vaddr));
		if (elf_image_at_vaddr(img, vaddr, DESTRUCTORS_MAX, out) == 0 &&
		    framed_find(out, framed))
			return true;
	}
	return false;
}

/*
 * The dynamic loader calls __do_global_dtors_aux() when the program ends. It has neither CFI nor a
 * symbol, but calls all destructors.
 */
static void destructors_find(struct unwind_special_code *k, const struct elf_image *img)
{
	const struct unwind_rule outer = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .ra_off = -8 };
	const struct unwind_rule inner = { .cfa = UNWIND_CFA_SP_OFF,
					   .cfa_off = 16,
					   .ra_off = -8,
					   .fp = UNWIND_SAVED_CFA,
					   .fp_off = -16 };
	struct elf_span code;
	struct framed framed;

	if (!destructors_at(img, &code, &framed))
		return;
	unwind_special_code_add(k, code.file_off, code.file_off + framed.lo, outer);
	unwind_special_code_add(k, code.file_off + framed.lo, code.file_off + framed.hi, inner);
	unwind_special_code_add(k, code.file_off + framed.hi, code.file_off + framed.hi + 1, outer);
}

void unwind_special_code_find(struct unwind_special_code *k, const struct elf_image *img)
{
	if (!ARCH_CALL_PUSHES) {
		plt_find(k, img, ".plt");
		plt_find(k, img, ".plt.got");
	}
	if (!ARCH_READS_CODE)
		return;
	entry_find(k, img);
	init_fini_find(k, img, ".init");
	init_fini_find(k, img, ".fini");
	unwind_fcontext_find(k, img);
	lisp_entry_find(k, img);
	destructors_find(k, img);
}

bool unwind_may_define_makecontext(const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_rawsyms syms;
	struct elf_rawsym sym;

	for (size_t i = 0; i < n; i++)
		if (segs[i].exec && segs[i].filesz > LIBC_TEXT_MAX)
			return false;
	/* static programs have no dynamic symbols except the null one */
	if (elf_rawsyms_open(img, ELF_DYNSYM, &syms) == 0 && syms.n > 1)
		return elf_symbol_lookup(img, ELF_DYNSYM, "makecontext", &sym) == 0;
	if (elf_rawsyms_open(img, ELF_SYMTAB, &syms) == 0)
		return elf_symbol_lookup(img, ELF_SYMTAB, "makecontext", &sym) == 0;
	return true;
}

uint64_t unwind_abort_vaddr(const struct elf_image *img)
{
	struct elf_rawsym abort, makecontext;

	return elf_gnuhash_lookup(img, "makecontext", &makecontext) == 0 &&
			       elf_gnuhash_lookup(img, "abort", &abort) == 0
		       ? abort.vaddr
		       : 0;
}

struct unwind_greenlet unwind_greenlet_find(const struct elf_image *img)
{
	/* of greenlet 3.x and of 2.x */
	static const char *const bottoms[] = {
		"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
		"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_greenlet"
		"XadL_ZNS1_15GreenletCheckerEPvEEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_11NoOp"
		"CheckerES4_EEEE",
	};
	struct unwind_greenlet g = { 0 };
	struct elf_rawsym sym;

	if (elf_gnuhash_lookup(img, "PyInit__greenlet", &sym) < 0 &&
	    elf_gnuhash_lookup(img, "PyInit_greenlet", &sym) < 0)
		return g;
	g.is_here = true;
	for (size_t i = 0; i < sizeof(bottoms) / sizeof(bottoms[0]); i++)
		if (elf_gnuhash_lookup(img, bottoms[i], &sym) == 0)
			g.bottom = sym.vaddr;
	if (elf_gnuhash_lookup(img, "_ZN8greenlet8Greenlet21g_switchstack_successEv", &sym) == 0)
		g.restores = sym.vaddr;
	/* greenlet 1.x and older is in C: found only if its symbols exist */
	if (!g.bottom && elf_symbol_lookup(img, ELF_SYMTAB, "g_initialstub", &sym) == 0)
		g.bottom = sym.vaddr;
	return g;
}

/* add %reg,%rsp: the number of the register; -1 for other code */
static int adds_to(const uint8_t *p, uint8_t base)
{
	if ((p[0] & 0xfb) != 0x48 || p[1] != 0x01 || (p[2] & 0xc7) != (0xc0 | base))
		return -1;
	return (p[0] & 4) << 1 | (p[2] >> 3 & 7);
}

uint64_t unwind_greenlet_switch_offset(const struct elf_image *img, uint64_t start, uint64_t len)
{
	enum { RSP = 4, RBP = 5, ADD = 3 };
	struct elf_span code;

	if (len < 2 * ADD || len > SWITCH_MAX ||
	    elf_image_at_vaddr(img, start, (size_t)len, &code) < 0)
		return 0;
	for (size_t i = 0; i + 2 * ADD <= len; i++) {
		int reg = adds_to(code.data + i, RSP);

		if (reg >= 0 && adds_to(code.data + i + ADD, RBP) == reg)
			return i + ADD;
	}
	return 0;
}
