/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Giving up, for good, what a process does not need: capabilities and system
 * calls. Both are of the calling thread and of what it starts afterwards.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
/* Those of x32 have this bit, and the same numbers otherwise. */
#define CONFINE_FOREIGN_SYSCALLS 0x40000000
#elif defined(__aarch64__)
#define CONFINE_ARCH             AUDIT_ARCH_AARCH64
#define CONFINE_FOREIGN_SYSCALLS 0x80000000
#else
#error "the seccomp filter knows x86-64 and arm64"
#endif

/* Parts of a filter; the first is CONFINE_BEGIN, behind which the call's number is loaded. */
#define CONFINE_LOAD(member)                                                                       \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define CONFINE_RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define CONFINE_BEGIN                                                                              \
	CONFINE_LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0),               \
		CONFINE_RETURN(SECCOMP_RET_KILL_PROCESS), CONFINE_LOAD(nr),                        \
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CONFINE_FOREIGN_SYSCALLS, 0, 1),               \
		CONFINE_RETURN(SECCOMP_RET_ERRNO | ENOSYS)
#define CONFINE_CALL(number, action)                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), CONFINE_RETURN(action)

/* Set no_new_privs and the filter. 0 or -errno. */
int confine_syscalls(struct sock_filter *code, size_t n);

/* Nothing on any file system can be changed any more (Landlock). 0; -ENOSYS before Linux 5.13. */
int confine_read_only(void);

/*
 * Drop all capabilities but those of @keep (bits by number), and what an exec
 * could bring back. 0 or -errno. What is left can be asked with
 * confine_capabilities().
 */
int confine_drop_capabilities(uint64_t keep);
uint64_t confine_capabilities(void); /* effective */
