/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start-up code is hand-written assembly that has hardly changed in decades, so it is compared
 * instruction by instruction, up to the call of __libc_start_main(), with a list of the
 * instructions that may occur. Linkers load the address of main() in several ways, also through the
 * GOT, where a relocation has it. Any other instruction means that main() is unknown.
 */
#include "elf/program_main.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "elf/image.h"
#include "elf/x86_insn.h"

enum {
	CODE_MIN = 16, /* bytes of start-up code that are read: a power of two between these */
	CODE_MAX = 128,
	RELOCATION_CODE_MAX = 1024, /* bytes of the code that relocates a static program */
	RELOCATIONS_MAX = 1 << 20,
};

/* Code at @vaddr, and how much of it was compared. */
struct cursor {
	const struct elf_image *img;
	struct elf_span code;
	size_t at;
};

/* Reads at most @len bytes, a power of two; less at the end of a small program. */
static bool code_at(const struct elf_image *img, uint64_t vaddr, size_t len, struct elf_span *out)
{
	while (len >= CODE_MIN && elf_image_at_vaddr(img, vaddr, len, out) < 0)
		len /= 2;
	return len >= CODE_MIN;
}

static bool cursor_init(struct cursor *c, const struct elf_image *img, uint64_t vaddr)
{
	*c = (struct cursor){ .img = img };
	return code_at(img, vaddr, CODE_MAX, &c->code);
}

/* Skips @bytes if they are next. */
static bool skip(struct cursor *c, const void *bytes, size_t len)
{
	if (c->code.len - c->at < len || memcmp(c->code.data + c->at, bytes, len) != 0)
		return false;
	c->at += len;
	return true;
}

/* Reads the 32 bits that are next; 0 at the end. */
static uint32_t next32(struct cursor *c)
{
	uint32_t v = 0;

	if (c->code.len - c->at >= sizeof(v))
		memcpy(&v, c->code.data + c->at, sizeof(v));
	c->at = c->code.len - c->at >= sizeof(v) ? c->at + sizeof(v) : c->code.len;
	return v;
}

/* Returns the address to which the 32 bits that are next, a distance from their end, lead. */
static uint64_t next_target(struct cursor *c)
{
	int32_t distance = (int32_t)next32(c);

	return c->code.vaddr + c->at + (uint64_t)(int64_t)distance;
}

/* Returns the address that the loader writes to @slot; 0 if it is not in the file. */
static uint64_t relocated(const struct elf_image *img, uint64_t slot, uint32_t relative)
{
	struct elf_span s;
	Elf64_Rela rela;

	if (elf_image_section(img, ".rela.dyn", &s) < 0)
		return 0;
	for (size_t i = 0; i < s.len / sizeof(rela) && i < RELOCATIONS_MAX; i++) {
		memcpy(&rela, s.data + i * sizeof(rela), sizeof(rela));
		if (rela.r_offset == slot && ELF64_R_TYPE(rela.r_info) == relative)
			return (uint64_t)rela.r_addend;
	}
	return 0;
}

/* ---- x86-64 ------------------------------------------------------------------------- */

enum x86_operand { NOTHING, IGNORED_32, MAIN_VALUE, MAIN_RELATIVE, MAIN_IN_GOT, CALL };

/* Instructions that prepare the arguments, and the call; arguments of 32 bits follow. */
static const struct {
	uint8_t len, operand, bytes[4];
} x86_insns[] = {
	{ 3, NOTHING, { 0x45, 0x31, 0xc0 } },       /* xor %r8d,%r8d */
	{ 2, NOTHING, { 0x31, 0xc9 } },             /* xor %ecx,%ecx */
	{ 3, NOTHING, { 0x45, 0x31, 0xc9 } },       /* xor %r9d,%r9d */
	{ 2, NOTHING, { 0x8b, 0x37 } },             /* mov (%rdi),%esi */
	{ 3, NOTHING, { 0x48, 0x8b, 0x37 } },       /* mov (%rdi),%rsi */
	{ 2, NOTHING, { 0x8b, 0x36 } },             /* mov (%rsi),%esi */
	{ 3, NOTHING, { 0x48, 0x8b, 0x36 } },       /* mov (%rsi),%rsi */
	{ 4, NOTHING, { 0x48, 0x8d, 0x57, 0x08 } }, /* lea 8(%rdi),%rdx */
	{ 4, NOTHING, { 0x48, 0x8d, 0x56, 0x08 } }, /* lea 8(%rsi),%rdx */
	{ 3, IGNORED_32, { 0x49, 0xc7, 0xc0 } },    /* mov $N,%r8 */
	{ 3, IGNORED_32, { 0x48, 0xc7, 0xc1 } },    /* mov $N,%rcx */
	{ 2, IGNORED_32, { 0x41, 0xb8 } },          /* mov $N,%r8d */
	{ 1, IGNORED_32, { 0xb9 } },                /* mov $N,%ecx */
	{ 3, IGNORED_32, { 0x4c, 0x8d, 0x05 } },    /* lea N(%rip),%r8 */
	{ 3, IGNORED_32, { 0x48, 0x8d, 0x0d } },    /* lea N(%rip),%rcx */
	{ 3, MAIN_VALUE, { 0x48, 0xc7, 0xc7 } },    /* mov $N,%rdi */
	{ 1, MAIN_VALUE, { 0xbf } },                /* mov $N,%edi */
	{ 3, MAIN_RELATIVE, { 0x48, 0x8d, 0x3d } }, /* lea N(%rip),%rdi */
	{ 3, MAIN_IN_GOT, { 0x48, 0x8b, 0x3d } },   /* mov N(%rip),%rdi */
	{ 2, CALL, { 0xff, 0x15 } },                /* call *N(%rip) */
	{ 2, CALL, { 0x67, 0xe8 } },                /* call N */
	{ 1, CALL, { 0xe8 } },
	{ 2, CALL, { 0xff, 0x25 } }, /* jmp *N(%rip) */
	{ 1, CALL, { 0xe9 } },       /* jmp N */
};

/* Returns the operand of the next instruction; -1 if it is another one. */
static int x86_next(struct cursor *c)
{
	for (size_t i = 0; i < sizeof(x86_insns) / sizeof(x86_insns[0]); i++)
		if (skip(c, x86_insns[i].bytes, x86_insns[i].len))
			return x86_insns[i].operand;
	return -1;
}

/* Returns what the code passes to the function that it calls as the first argument. */
static uint64_t x86_argument(struct cursor *c)
{
	uint64_t found = 0;

	for (;;) {
		switch (x86_next(c)) {
		case NOTHING:
			break;
		case IGNORED_32:
			(void)next32(c);
			break;
		case MAIN_VALUE:
			found = (uint64_t)(int64_t)(int32_t)next32(c);
			break;
		case MAIN_RELATIVE:
			found = next_target(c);
			break;
		case MAIN_IN_GOT:
			found = relocated(c->img, next_target(c), R_X86_64_RELATIVE);
			break;
		case CALL:
			return found;
		default:
			return 0;
		}
	}
}

/* The register of lea N(%rip),%reg, and the address in *@out; X86_NO_REG for other instructions. */
static uint8_t x86_loaded(const uint8_t *insn, uint64_t end, uint64_t *out)
{
	int32_t distance;

	if ((insn[0] & 0xfb) != 0x48 || insn[1] != 0x8d || (insn[2] & 0xc7) != 0x05)
		return X86_NO_REG;
	memcpy(&distance, insn + 3, sizeof(distance));
	*out = end + (uint64_t)(int64_t)distance;
	return (uint8_t)((insn[0] & 4) << 1 | (insn[2] >> 3 & 7));
}

/*
 * Static position-independent programs of musl relocate themselves first. The code for that, at
 * @vaddr, ends in a jump to the function that has main(), whose address it loaded into a register.
 * Returns that address; 0 for other code.
 */
static uint64_t x86_after_relocation(const struct elf_image *img, uint64_t vaddr)
{
	uint64_t loaded[16] = { 0 }, addr;
	struct x86_insn insn;
	struct elf_span code;

	if (!code_at(img, vaddr, RELOCATION_CODE_MAX, &code))
		return 0;
	for (size_t at = 0; x86_decode(code.data + at, code.len - at, &insn); at += insn.len) {
		const uint8_t *bytes = code.data + at;
		uint8_t reg = insn.len == 7 ? x86_loaded(bytes, vaddr + at + 7, &addr) : X86_NO_REG;

		if (reg != X86_NO_REG)
			loaded[reg] = addr;
		if (insn.kind == X86_RET)
			return 0;
		if (insn.kind != X86_JUMP_INDIRECT)
			continue;
		reg = x86_jump_register(bytes, insn.len);
		return reg != X86_NO_REG ? loaded[reg] : 0;
	}
	return 0;
}

/* Skips endbr64, which compilers that protect indirect branches put at the start of a function. */
static void x86_skip_landing(struct cursor *c)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	(void)skip(c, endbr, sizeof(endbr));
}

/* Returns what the function at @vaddr passes on as the first argument; 0 if it is not known. */
static uint64_t x86_passed_by(struct cursor *c, uint64_t vaddr)
{
	if (!cursor_init(c, c->img, vaddr))
		return 0;
	x86_skip_landing(c);
	return x86_argument(c);
}

static uint64_t x86_musl_main(struct cursor *c, uint64_t start)
{
	uint64_t found = x86_passed_by(c, start);

	if (found)
		return found;
	start = x86_after_relocation(c->img, start);
	return start ? x86_passed_by(c, start) : 0;
}

static uint64_t x86_main(struct cursor *c)
{
	/* xor %ebp,%ebp; mov %rdx,%r9; pop %rsi; mov %rsp,%rdx; and $-16,%rsp; push %rax; push %rsp
	 */
	static const uint8_t glibc[] = { 0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89,
					 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x54 };
	/* xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call _start_c */
	static const uint8_t musl[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35 };
	static const uint8_t musl_end[] = { 0x48, 0x83, 0xe4, 0xf0, 0xe8 };

	x86_skip_landing(c);
	if (skip(c, glibc, sizeof(glibc)))
		return x86_argument(c);
	if (!skip(c, musl, sizeof(musl)))
		return 0;
	(void)next32(c);
	return skip(c, musl_end, sizeof(musl_end)) ? x86_musl_main(c, next_target(c)) : 0;
}

/* ---- arm64 -------------------------------------------------------------------------- */

enum {
	ARM64_ADRP_X0 = 0x90000000, /* its page: bits 5 to 23 and, lower, 29 and 30 */
	ARM64_ADR_MASK = 0x9f00001f,
	ARM64_ADR_X0 = 0x10000000, /* adr x0,N: the same bits as adrp */
	ARM64_NOP = 0xd503201f,
	ARM64_ADD_X0 = 0x91000000, /* add x0,x0,#N: bits 10 to 21 */
	ARM64_LDR_X0 = 0xf9400000, /* ldr x0,[x0,#8*N]: the same bits */
	ARM64_IMM12_MASK = 0xffc003ff,
	ARM64_B = 0x14000000, /* b: 26 bits, in instructions */
	ARM64_B_MASK = 0xfc000000,
	/* bytes after main()'s address is in x0: mov x3,#0; mov x4,#0; bl ...; bl abort */
	ARM64_AFTER_MAIN = 16,
};

/* Returns the signed number in an adr or adrp instruction: bytes or pages. */
static int64_t arm64_distance(uint32_t insn)
{
	uint32_t v = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);

	return (int64_t)(int32_t)(v << 11) >> 11;
}

/* Skips bti c, which is a nop in code for older processors. */
static void arm64_skip_landing(struct cursor *c)
{
	static const uint32_t landings[] = { 0xd503245f, ARM64_NOP };

	if (!skip(c, &landings[0], sizeof(landings[0])))
		(void)skip(c, &landings[1], sizeof(landings[1]));
}

/*
 * Static programs pass __wrap_main(), which follows the start-up code and only jumps to main(). A
 * function at another place is main() itself, even if it begins with a jump.
 */
static uint64_t arm64_skip_wrapper(struct cursor *c, uint64_t found)
{
	uint32_t insn;

	c->at += ARM64_AFTER_MAIN;
	if (c->at > c->code.len || found != c->code.vaddr + c->at)
		return found;
	arm64_skip_landing(c);
	insn = next32(c);
	if ((insn & ARM64_B_MASK) != ARM64_B)
		return found;
	return c->code.vaddr + c->at - 4 + (uint64_t)(4 * ((int64_t)(int32_t)(insn << 6) >> 6));
}

/* Returns what the code loads into x0, with two instructions. */
static uint64_t arm64_argument(struct cursor *c)
{
	uint64_t at = c->code.vaddr + c->at, page;
	uint32_t first = next32(c), second = next32(c), imm = second >> 10 & 0xfff;

	if (first == ARM64_NOP && (second & ARM64_ADR_MASK) == ARM64_ADR_X0)
		return at + 4 + (uint64_t)arm64_distance(second);
	if ((first & ARM64_ADR_MASK) != ARM64_ADRP_X0)
		return 0;
	page = (at & ~0xfffULL) + ((uint64_t)arm64_distance(first) << 12);
	if ((second & ARM64_IMM12_MASK) == ARM64_LDR_X0)
		return relocated(c->img, page + 8 * (uint64_t)imm, R_AARCH64_RELATIVE);
	return (second & ARM64_IMM12_MASK) == ARM64_ADD_X0 ? page + imm : 0;
}

static uint64_t arm64_main(struct cursor *c)
{
	/* mov x29,#0; mov x30,#0; mov x5,x0; ldr x1,[sp]; add x2,sp,#8; mov x6,sp */
	static const uint32_t glibc[] = { 0xd280001d, 0xd280001e, 0xaa0003e5,
					  0xf94003e1, 0x910023e2, 0x910003e6 };

	arm64_skip_landing(c);
	return skip(c, glibc, sizeof(glibc)) ? arm64_skip_wrapper(c, arm64_argument(c)) : 0;
}

uint64_t elf_program_main(const struct elf_image *img)
{
	struct cursor c;

	if (!cursor_init(&c, img, elf_image_entry(img)))
		return 0;
	switch (elf_image_machine(img)) {
	case EM_X86_64:
		return x86_main(&c);
	case EM_AARCH64:
		return arm64_main(&c);
	default:
		return 0;
	}
}
