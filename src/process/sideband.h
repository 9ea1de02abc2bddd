/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens one perf side-band ring on each CPU and delivers what processes do as it happens, in
 * order of time: exec, fork, exit, new mappings. Decoding and ordering are in
 * sideband_event.h. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "process/sideband_event.h"

struct err;
struct sideband;

/*
 * Opens the rings of all online CPUs, each of @ring_bytes, a power of two of at least a page; 0:
 * 256 KiB. Needs CAP_PERFMON (or root). Returns 0 or -errno with the reason.
 */
int sideband_open(struct sideband **out, uint32_t ring_bytes, struct err *err);
void sideband_free(struct sideband *sb);

DEFINE_FREEP(struct sideband, sideband_free)

/* Opens rings on CPUs that have come online since. Returns 0 or -errno. */
int sideband_update_cpus(struct sideband *sb, struct err *err);

/*
 * Reopens the ring of a CPU that was offline: the events meanwhile were lost with the old
 * ring. Returns 0 or -errno.
 */
int sideband_reopen_cpu(struct sideband *sb, int cpu, struct err *err);

/* An epoll descriptor that is readable as soon as an event is available. */
int sideband_fd(const struct sideband *sb);

/*
 * Reads all rings and calls @fn for the events up to @until_ns, a time before the call, in order of
 * time. Later ones are delivered by a later call. Returns their number, or -errno.
 */
int sideband_consume(struct sideband *sb, uint64_t until_ns, sideband_fn fn, void *ctx);

/* Bytes of all rings, with the kernel's page for each. */
uint64_t sideband_bytes(const struct sideband *sb);

/* Returns true if events were read that are not delivered yet. */
bool sideband_has_pending(const struct sideband *sb);
