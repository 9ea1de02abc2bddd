/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drops the privileges that a running agent does not need. packaging/cameo-agent.service
 * lists the same capabilities; a test compares the two.
 */
#include <stddef.h>
#include <stdint.h>

struct err;

/**
 * privileges_drop() - keep only what sampling needs
 *
 * Raises the limits on locked memory and open files, which needs privileges. Then drops all
 * capabilities but those of CAP_BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG,
 * CHECKPOINT_RESTORE and IPC_LOCK that the process has, sets no_new_privs, and installs a
 * system call filter that child processes inherit. Loading BPF programs still works
 * afterwards. Call it once and before creating threads, because other threads would keep
 * their privileges.
 *
 * Some kernels (Debian's with kernel.perf_event_paranoid=3) let only CAP_SYS_ADMIN open perf
 * events. There it is kept, and @report mentions it.
 *
 * Return: 0 with a summary in @report ("capabilities bpf perfmon ..."), at most @len bytes;
 * -EBUSY if there are other threads; -errno.
 */
int privileges_drop(char *report, size_t len, struct err *err);

/* Tries to open a CPU clock event. Returns 0 or -errno. */
int privileges_try_clock(void);

/*
 * The capabilities that are kept, as a mask of bits by number; and the name of a kept
 * capability without "CAP_", in lower case, or NULL.
 */
uint64_t privileges_kept(void);
const char *privileges_name(unsigned int capability);
