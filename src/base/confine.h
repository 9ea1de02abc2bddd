/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Irrevocably drops what a process does not need: system calls (seccomp), writes to file
 * systems (Landlock) and capabilities. All of it applies to the calling thread and to the
 * threads and processes that it starts afterwards, so call these before starting threads.
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
/* System calls of the x32 ABI have this bit set and could bypass a filter by number. */
#define CONFINE_FOREIGN_SYSCALLS 0x40000000
#elif defined(__aarch64__)
#define CONFINE_ARCH             AUDIT_ARCH_AARCH64
#define CONFINE_FOREIGN_SYSCALLS 0x80000000
#else
#error "the seccomp filter knows x86-64 and arm64"
#endif

/*
 * Building blocks of a seccomp filter. It starts with CONFINE_BEGIN, which kills the process on
 * a call of another architecture and loads the number of the call; CONFINE_CALL() then decides
 * on one number each, and a CONFINE_RETURN() ends the filter.
 */
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

/*
 * A sanitizer's run time needs calls that a program without it does not: its search for leaks
 * traces this process.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONFINE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONFINE_SANITIZED 1
#endif
#endif
#ifndef CONFINE_SANITIZED
#define CONFINE_SANITIZED 0
#endif

/* Sets no_new_privs and installs the filter of @n instructions. Returns 0 or -errno. */
int confine_syscalls(struct sock_filter *code, size_t n);

/* Does the same for all threads of this process, which must have equal filters so far. */
int confine_syscalls_of_all_threads(struct sock_filter *code, size_t n);

/*
 * Denies every change to every file system (Landlock); descriptors that are already open for
 * writing stay usable. Returns 0; -ENOSYS before Linux 5.13; -EOPNOTSUPP if it is disabled.
 */
int confine_read_only(void);

/*
 * Drops all capabilities except @keep, a mask of 1 << CAP_x, from the permitted, effective,
 * inheritable, ambient and bounding sets. Returns 0 or -errno.
 */
int confine_drop_capabilities(uint64_t keep);

/*
 * Makes the next execve() keep the permitted capabilities, also for a user other than root. Returns
 * 0 or -errno. It is async-signal-safe.
 */
int confine_keep_capabilities(void);

/* The effective capabilities, as such a mask. */
uint64_t confine_capabilities(void);
