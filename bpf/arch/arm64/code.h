/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * arm64: the functions and constants that bpf/arch/code.h lists. Instructions are words, encoded as
 * in the Arm Architecture Reference Manual (C6.2). A call stores the return address in x30, so a
 * frame without it on the stack is possible only in a leaf function.
 */
enum {
	ARCH_FP_HAS_SP = 0, /* the frame record may be anywhere in its frame */
	ARCH_CALL_PUSHES = 0,
	/*
	 * struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo has 128 bytes, the ucontext 176
	 * up to its sigcontext, whose first word is the fault's address; x0-x30, sp, pc
	 */
	ARCH_SIGNAL_AT = 128 + 176 + 8,
	ARCH_SIGNAL_WORDS = 33,
	ARCH_SIGNAL_SP = ARCH_SIGNAL_AT + 31 * 8,
};

/* The upper bits hold a signature if pointer authentication is in use. */
ARCH_FN __u64 arch_code_address(__u64 addr, __u64 mask)
{
	return addr & mask;
}

/*
 * The C library's structure ends at the thread pointer or a few words behind it. Its size depends
 * on the library: 1,824 bytes in glibc 2.41, 200 in musl. The structures of two threads are at
 * least a stack apart.
 */
ARCH_FN int arch_is_thread_id(__u64 id, __u64 tp)
{
	return tp - id < 4096;
}

/* BL */
ARCH_FN int arch_is_direct_call(__u64 before)
{
	return (before >> 32 & 0xfc000000) == 0x94000000;
}

ARCH_FN __u64 arch_call_target(__u64 before, __u64 ra)
{
	__s32 words = (__s32)((__u32)(before >> 32) << 6) >> 6;

	return ra - 4 + (__u64)(__s64)words * 4;
}

/* BL; BLR; BLRAA, BLRAB, BLRAAZ, BLRABZ */
ARCH_FN int arch_is_call(__u64 before)
{
	__u32 insn = before >> 32;

	return arch_is_direct_call(before) || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

ARCH_FN int arch_trampoline_bytes(__u64 code, int is_call)
{
	return -1;
}

/* The slot of a PLT's entry is computed by two instructions; it is not followed. */
ARCH_FN int arch_jump_slot(const __u64 *code, __u64 at, __u64 *out_slot)
{
	return 0;
}

ARCH_FN void arch_signal_registers(__u64 *regs, const __u64 *c)
{
	for (int i = 0; i < ARCH_SIGNAL_WORDS; i++)
		regs[i] = c[i];
}

/* Breakpoints have four bytes, and pc is not moved after them. */
ARCH_FN int arch_is_breakpoint(__u8 byte)
{
	return 0;
}

ARCH_FN int arch_is_behind_breakpoint(__u16 code, __u64 pc)
{
	return 0;
}
