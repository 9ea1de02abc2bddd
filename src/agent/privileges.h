/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drops the privileges that a running command does not need: the agent, a recording and the server.
 * packaging/cameo-agent.service lists the same capabilities; a test compares the two.
 */
#include <stddef.h>
#include <stdint.h>

struct err;

/**
 * privileges_drop() - keep only the capabilities @keep
 *
 * Raises the limits on locked memory and open files, which needs privileges. Then drops all
 * capabilities but those of @keep that the process has, sets no_new_privs, and installs a
 * system call filter that child processes inherit. With privileges_kept(), loading BPF programs
 * still works afterwards. Call it once and before creating threads, because other threads would
 * keep their privileges.
 *
 * Some kernels (Debian's with kernel.perf_event_paranoid=3) let only CAP_SYS_ADMIN open perf
 * events. If @keep contains CAP_PERFMON, it is kept there, and @report mentions it.
 *
 * Return: 0 with a summary in @report ("capabilities bpf perfmon ..."), at most @len bytes;
 * -EBUSY if there are other threads; -errno.
 */
int privileges_drop(uint64_t keep, char *report, size_t len, struct err *err);

/*
 * Forbids new sockets of the network in all threads, and in children that are started later, after
 * privileges_drop(). Sockets that exist remain usable, so a server may still accept connections.
 * Returns 0 or -errno.
 */
int privileges_deny_network(struct err *err);

/* Tries to open a CPU clock event. Returns 0 or -errno. */
int privileges_try_clock(void);

/*
 * The capabilities that sampling needs, as a mask of bits by number: CAP_BPF, PERFMON, SYS_PTRACE,
 * DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE and IPC_LOCK; and the name of such a capability
 * without "CAP_", in lower case, or NULL.
 */
uint64_t privileges_kept(void);
const char *privileges_name(unsigned int capability);

/*
 * Masks of the capabilities that an operation requires: to signal a process of another user; to
 * probe functions of further files while a recording runs (the kernel demands CAP_SYS_ADMIN); to
 * read @file; to create files in @dir, or @dir itself; to listen on @port. The last three are 0 if
 * this user may do so without capabilities.
 */
uint64_t privileges_to_kill(void);
uint64_t privileges_to_probe(void);
uint64_t privileges_to_read(const char *file);
uint64_t privileges_to_write(const char *dir);
uint64_t privileges_to_listen(uint16_t port);
