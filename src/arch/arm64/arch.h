/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* arm64: the macros and functions that arch/arch.h lists. */
#define ARCH_NAME      "arm64"
#define ARCH_GO_NAME   "arm64"
#define ARCH_MULTIARCH "aarch64-linux-gnu"

enum {
	ARCH_ELF_MACHINE = EM_AARCH64,
	ARCH_JUMP_SLOT = R_AARCH64_JUMP_SLOT,
	ARCH_GLOB_DAT = R_AARCH64_GLOB_DAT,
	ARCH_IRELATIVE = R_AARCH64_IRELATIVE,
	ARCH_TLS_DESCRIPTOR = R_AARCH64_TLSDESC,
	ARCH_TLS_MODULE = R_AARCH64_TLS_DTPMOD,
	ARCH_TLS_OFFSET = R_AARCH64_TLS_TPREL,
	ARCH_READS_CONTEXTS = 0,
	ARCH_READS_CODE = 0,
	ARCH_HAS_LANGUAGES = 0,
	ARCH_CODE_ALIGN = 4,
	ARCH_JUMP_BYTES = 4,
	ARCH_CALL_BYTES = 4,
	ARCH_SLOT_BYTES = 8,
	ARCH_PLT_HEADER = 32,
	ARCH_CONTEXT_END_MIN = 12,
	ARCH_CONTEXT_END_MAX = 24, /* with padding and a landing pad in front */
};

/*
 * XPACLRI clears the bits of x30 that pointer authentication uses, which depend on the size of
 * addresses that the kernel chose. It is a hint: without pointer authentication it does nothing.
 */
static inline uint64_t arch_code_mask(void)
{
	/* bit 55 is clear in all addresses of user space */
	register uint64_t x30 __asm__("x30") = UINT64_MAX & ~(1ULL << 55);

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

static inline void arch_registers(const struct user_regs_struct *u, uint64_t out[UREG_COUNT])
{
	for (int i = 0; i < 31; i++)
		out[i] = u->regs[i];
	out[31] = u->sp;
	out[32] = u->pc;
}

/* Always 0, because ptrace has the thread pointer in another set of registers, NT_ARM_TLS. */
static inline uint64_t arch_thread_pointer(const struct user_regs_struct *u)
{
	return 0;
}

static inline void arch_user_registers(const uint64_t regs[UREG_COUNT], uint64_t thread_pointer,
				       struct user_regs_struct *out)
{
	*out = (struct user_regs_struct){ .sp = regs[31], .pc = regs[32] };
	for (int i = 0; i < 31; i++)
		out->regs[i] = regs[i];
}

/* mov x8, #139; svc #0 */
static inline const uint8_t *arch_find_restorer(const uint8_t *code, size_t len, size_t *out_len)
{
	static const uint8_t all[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

	*out_len = sizeof(all);
	return memmem(code, len, all, sizeof(all));
}

/* The signed field of @bits bits at bit @at of an instruction, which counts words. */
static inline int64_t arm64_words(uint32_t insn, unsigned int at, unsigned int bits)
{
	return (int64_t)((uint64_t)insn << (64 - at - bits)) >> (64 - bits) << 2;
}

/* B; B.cond, CBZ and CBNZ; TBZ and TBNZ */
static inline bool arch_is_jump(const uint8_t *code, int64_t *out_away)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	if ((insn & 0xfc000000) == 0x14000000)
		*out_away = arm64_words(insn, 0, 26);
	else if ((insn & 0xff000010) == 0x54000000 || (insn & 0x7e000000) == 0x34000000)
		*out_away = arm64_words(insn, 5, 19);
	else if ((insn & 0x7e000000) == 0x36000000)
		*out_away = arm64_words(insn, 5, 14);
	else
		return false;
	return true;
}

/* BL */
static inline bool arch_is_call_to(const uint8_t *code, int64_t *out_away)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	*out_away = arm64_words(insn, 0, 26);
	return (insn & 0xfc000000) == 0x94000000;
}

/* adrp x16, PAGE; ldr x17, [x16, #OFFSET] */
static inline bool arch_is_jump_through(const uint8_t *code, uint64_t vaddr, uint64_t *out_slot)
{
	uint32_t adrp, ldr;
	int64_t pages;

	memcpy(&adrp, code, sizeof(adrp));
	memcpy(&ldr, code + 4, sizeof(ldr));
	pages = arm64_words(adrp, 5, 19) | (adrp >> 29 & 3);
	*out_slot = (vaddr & ~0xfffULL) + ((uint64_t)pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return (adrp & 0x9f00001f) == 0x90000010 && (ldr & 0xffc003ff) == 0xf9400211;
}

/* stp x16, x30, [sp, #-16]! */
static inline bool arch_is_lazy_plt(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	return insn == 0xa9bf7bf0;
}

/* mov x0, x19; cbnz x0, setcontext; b exit, after what precedes them */
static inline bool arch_is_context_end(const uint8_t *code, size_t len)
{
	uint32_t insns[3];

	memcpy(insns, code + len - sizeof(insns), sizeof(insns));
	return insns[0] == 0xaa1303e0 && (insns[1] & 0xff00001f) == 0xb5000000 &&
	       (insns[2] & 0xfc000000) == 0x14000000;
}
