/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * x86-64: the functions and constants that bpf/arch/code.h lists. Instructions are encoded as in
 * Intel's SDM, volume 2.
 */

enum {
	ARCH_FP_HAS_SP = 1,
	ARCH_CALL_PUSHES = 1,
	/*
	 * struct ucontext (arch/x86/include/uapi/asm/ucontext.h), whose sigcontext begins at byte
	 * 40 with r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
	 */
	ARCH_SIGNAL_AT = 40,
	ARCH_SIGNAL_WORDS = 17,
	ARCH_SIGNAL_SP = ARCH_SIGNAL_AT + 15 * 8,
	X86_ENDBR64 = 0xfa1e0ff3,
};

#define arch_code_address(addr, mask) (addr)

/* The thread pointer is the address of the C library's structure. */
ARCH_FN int arch_is_thread_id(__u64 id, __u64 tp)
{
	return id == tp;
}

ARCH_FN int x86_is_indirect_call(__u64 before, __u32 i, __u8 mask, __u8 mode)
{
	return arch_byte(&before, i) == 0xff && (arch_byte(&before, i + 1) & mask) == mode;
}

/* call rel32 */
ARCH_FN int arch_is_direct_call(__u64 before)
{
	return arch_byte(&before, 3) == 0xe8;
}

ARCH_FN __u64 arch_call_target(__u64 before, __u64 ra)
{
	return ra + (__u64)(__s64)(__s32)(before >> 32);
}

/*
 * Every form of call: E8; FF /2 with reg, (reg); disp8(reg), (sib); disp8(sib); disp32(reg), (rip);
 * disp32(sib).
 */
ARCH_FN int arch_is_call(__u64 b)
{
	return arch_is_direct_call(b) || x86_is_indirect_call(b, 6, 0xf8, 0xd0) ||
	       x86_is_indirect_call(b, 6, 0xf8, 0x10) || x86_is_indirect_call(b, 5, 0xf8, 0x50) ||
	       x86_is_indirect_call(b, 5, 0xff, 0x14) || x86_is_indirect_call(b, 4, 0xff, 0x54) ||
	       x86_is_indirect_call(b, 2, 0xf8, 0x90) || x86_is_indirect_call(b, 2, 0xff, 0x15) ||
	       x86_is_indirect_call(b, 1, 0xff, 0x94);
}

/* The code of a function that has just begun or is about to return: it has no frame. */
ARCH_FN int x86_is_frameless(__u64 code)
{
	return (code & 0xffffffff) == 0x08ec8348 ||  /* sub $8, %rsp */
	       (code & 0xffffffff) == 0xe5894855 ||  /* push %rbp; mov %rsp, %rbp */
	       (code & 0xffffffff) == X86_ENDBR64 || /* endbr64 */
	       (code & 0xff) == 0xc3;                /* ret */
}

/* CPython's trampolines for perf have one call, and after it: add $N, %rsp; ret. */
ARCH_FN int arch_trampoline_bytes(__u64 code, int is_call)
{
	if (!is_call && x86_is_frameless(code))
		return 0;
	if (!is_call && (code & 0xf8ff) == 0xd0ff) /* call *%reg */
		code >>= 16;
	if ((code & 0xff80ffffff) != 0xc300c48348)
		return -1;
	return (code >> 24) & 0x78;
}

/* [endbr64] [bnd] jmp *disp32(%rip) */
ARCH_FN int arch_jump_slot(const __u64 *code, __u64 at, __u64 *out_slot)
{
	__u32 i = (__u32)code[0] == X86_ENDBR64 ? 4 : 0, disp;

	i += arch_byte(code, i) == 0xf2;
	if (arch_byte(code, i) != 0xff || arch_byte(code, i + 1) != 0x25)
		return 0;
	disp = arch_byte(code, i + 2) | arch_byte(code, i + 3) << 8 | arch_byte(code, i + 4) << 16 |
	       (__u32)arch_byte(code, i + 5) << 24;
	*out_slot = at + i + 6 + (__u64)(__s64)(__s32)disp;
	return 1;
}

ARCH_FN void arch_signal_registers(__u64 *regs, const __u64 *c)
{
	for (int i = 0; i < 8; i++)
		regs[8 + i] = c[i];
	regs[5] = c[8];
	regs[4] = c[9];
	regs[UREG_RBP] = c[10];
	regs[UREG_RBX] = c[11];
	regs[1] = c[12];
	regs[0] = c[13];
	regs[2] = c[14];
	regs[UREG_RSP] = c[15];
	regs[UREG_RIP] = c[16];
}

enum { INT3 = 0xcc, FUNCTIONS_ALIGN = 16 };

ARCH_FN int arch_is_breakpoint(__u8 byte)
{
	return byte == INT3;
}

/* int3 before an aligned address is padding between functions. */
ARCH_FN int arch_is_behind_breakpoint(__u16 code, __u64 pc)
{
	return (code & 0xff) == INT3 && pc % FUNCTIONS_ALIGN;
}
