/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* arm64: the types and functions that bpf/arch/kernel.h lists. */

enum {
	PSTATE_MODE = 0xf,     /* 0: user mode */
	PSTATE_AARCH32 = 0x10, /* arch/arm64/include/uapi/asm/ptrace.h: PSR_MODE32_BIT */
	NR_EXECVE = 221,       /* include/uapi/asm-generic/unistd.h */
	NR_EXECVEAT = 281,
	KERNEL_STACK_BYTES = 16384, /* with pages of 4 KiB */
	SAVED_REGS_BYTES = 336,
	ESR_WRITE = 1 << 6, /* arch/arm64/include/asm/esr.h: ESR_ELx_WNR */
	ESR_FSC_TYPE = 0x3c,
	ESR_FSC_PERMISSION = 0x0c,
	ARCH_RETURN_BYTES = 0,
	RED_ZONE = 16, /* AAPCS64, 6.4.5.1, has none; Go stores fp in the word below sp */
};

/* struct user_pt_regs */
struct user_regs {
	__u64 x[31];
	__u64 sp, pc, pstate;
};

/* The beginning of struct pt_regs (arch/arm64/include/asm/ptrace.h). */
struct saved_regs {
	struct user_regs user;
	__u64 orig_x0;
	__s32 syscallno;
	__u32 pad;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	struct {
		unsigned long tp_value; /* as of the last time it was switched out */
	} uw;
};

struct pt_regs {
	__u64 sp;
	int syscallno;
};

#pragma clang attribute pop

#define ARCH_THREAD_POINTER thread.uw.tp_value
#define ARCH_SYSCALL        syscallno

static __always_inline void regs_copy(__u64 *to, const struct user_regs *r)
{
#pragma unroll
	for (int i = 0; i < 31; i++)
		to[i] = r->x[i];
	to[31] = r->sp;
	to[32] = r->pc;
}

static __always_inline __u64 regs_mode(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->pstate;
}

static __always_inline int mode_is_kernel(__u64 mode)
{
	return !(mode & PSTATE_AARCH32) && (mode & PSTATE_MODE);
}

static __always_inline int mode_is_32bit(__u64 mode)
{
	return mode & PSTATE_AARCH32;
}

static __always_inline const __u64 *regs_sp(const struct user_regs *r)
{
	return &r->sp;
}

/* The arguments and the result of a function, by AAPCS64. */
static __always_inline __u64 regs_arg0(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->x[0];
}

static __always_inline __u64 regs_arg1(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->x[1];
}

static __always_inline __u64 regs_arg2(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->x[2];
}

static __always_inline __u64 regs_result(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->x[0];
}

static __always_inline __u64 regs_pc(const struct user_regs *r)
{
	return r->pc;
}

static __always_inline __u64 regs_link(const struct user_regs *r)
{
	return r->x[30];
}

/* The pc of a breakpoint is that of the breakpoint itself, and no instruction pushes a word. */
static __always_inline int saved_by_trap(const struct saved_regs *s)
{
	return 0;
}

static __always_inline __u64 saved_syscall(const struct saved_regs *s)
{
	return (__u32)s->syscallno;
}

static __always_inline int fault_of_present(__u64 error)
{
	return (error & ESR_FSC_TYPE) == ESR_FSC_PERMISSION;
}

static __always_inline int fault_of_write(__u64 error)
{
	return !!(error & ESR_WRITE);
}
