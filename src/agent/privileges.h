/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an agent that runs for ever does without. */
#include <stddef.h>
#include <stdint.h>

struct err;

/**
 * privileges_drop() - keep what sampling takes, and nothing else
 *
 * Raises the limits on locked memory and open files, which takes privileges;
 * then keeps CAP_BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG,
 * CHECKPOINT_RESTORE and IPC_LOCK, those of them that there are; sets
 * no_new_privs and a filter of system calls, which holds for what is started
 * later too. What loading the BPF programs takes is among it. Called once,
 * before there are other threads, as they would keep what they have.
 *
 * Some kernels (Debian's, where kernel.perf_event_paranoid is 3) open perf events
 * for nobody but CAP_SYS_ADMIN, which is kept there too, and told.
 *
 * Return: 0 with what holds in @report ("capabilities bpf perfmon ..."); -EBUSY
 * when there are threads; -errno.
 */
int privileges_drop(char *report, size_t len, struct err *err);

/* Can a CPU's clock be opened? 0 or -errno. */
int privileges_try_clock(void);

/* The capabilities that are kept, bits by number; and the name of one ("bpf"), or NULL. */
uint64_t privileges_kept(void);
const char *privileges_name(unsigned int capability);
