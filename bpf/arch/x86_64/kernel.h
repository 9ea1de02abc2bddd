/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* x86-64: the types and functions that bpf/arch/kernel.h lists. */

enum {
	USER_CS_32 = 0x23,
	NR_EXECVE = 59, /* arch/x86/entry/syscalls/syscall_64.tbl */
	NR_EXECVEAT = 322,
	KERNEL_STACK_BYTES = 16384,
	ARCH_RETURN_BYTES = 8, /* a call pushes the return address */
	RED_ZONE = 128,        /* System V psABI AMD64, 3.2.2 */
	PF_PROT = 1 << 0,      /* arch/x86/include/asm/trap_pf.h */
	PF_WRITE = 1 << 1,
};

/* Written out without CO-RE's flags, because all eight bytes of cs are read. */
struct user_regs {
	__u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	__u64 orig_rax, rip, cs, eflags, rsp, ss;
};

struct saved_regs {
	struct user_regs user;
};

enum { SAVED_REGS_BYTES = sizeof(struct saved_regs) };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	unsigned long fsbase;
};

struct pt_regs {
	unsigned long orig_ax;
	unsigned long sp;
};

#pragma clang attribute pop

#define ARCH_THREAD_POINTER thread.fsbase
#define ARCH_SYSCALL        orig_ax

static __always_inline void regs_copy(__u64 *to, const struct user_regs *r)
{
	to[0] = r->rax;
	to[1] = r->rdx;
	to[2] = r->rcx;
	to[3] = r->rbx;
	to[4] = r->rsi;
	to[5] = r->rdi;
	to[6] = r->rbp;
	to[7] = r->rsp;
	to[8] = r->r8;
	to[9] = r->r9;
	to[10] = r->r10;
	to[11] = r->r11;
	to[12] = r->r12;
	to[13] = r->r13;
	to[14] = r->r14;
	to[15] = r->r15;
	to[16] = r->rip;
}

static __always_inline __u64 regs_mode(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->cs;
}

static __always_inline int mode_is_kernel(__u64 mode)
{
	return !(mode & 3);
}

static __always_inline int mode_is_32bit(__u64 mode)
{
	return mode == USER_CS_32;
}

static __always_inline const __u64 *regs_sp(const struct user_regs *r)
{
	return &r->rsp;
}

/* The arguments and the result of a function, by the System V psABI. */
static __always_inline __u64 regs_arg0(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->rdi;
}

static __always_inline __u64 regs_arg1(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->rsi;
}

static __always_inline __u64 regs_arg2(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->rdx;
}

static __always_inline __u64 regs_result(const struct user_regs *r)
{
	return *(const volatile __u64 *)&r->rax;
}

static __always_inline __u64 regs_pc(const struct user_regs *r)
{
	return r->rip;
}

static __always_inline __u64 regs_link(const struct user_regs *r)
{
	return 0;
}

/*
 * True after a trap: orig_ax then holds -1. It holds the number of a system call or the error code
 * of a fault otherwise.
 */
static __always_inline int saved_by_trap(const struct saved_regs *s)
{
	return s->user.orig_rax == (__u64)-1;
}

static __always_inline __u64 saved_syscall(const struct saved_regs *s)
{
	return s->user.orig_rax;
}

static __always_inline int fault_of_present(__u64 error)
{
	return !!(error & PF_PROT);
}

static __always_inline int fault_of_write(__u64 error)
{
	return !!(error & PF_WRITE);
}
