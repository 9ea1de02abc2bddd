/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Side-band events: what processes do, decoded from perf records and ordered by time. Each CPU
 * has a ring of its own, so a process that forks on one CPU and whose child execs on another
 * leaves records in two rings. The queue copies the records of all rings, then delivers them in
 * order of time: sideband_queue_read() for each ring, then sideband_queue_deliver() up to the time
 * at which the first of these reads began, since later records of other CPUs may be missing. It
 * opens no
 * perf events (sideband.h does) and keeps no state of processes (process_table.h does).
 *
 * Threads other than the main thread of a process appear only in fork and exit events with
 * tid != pid.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum sideband_type {
	SIDEBAND_MAP,    /* a new executable mapping */
	SIDEBAND_COMM,   /* a thread has a new name */
	SIDEBAND_EXEC,   /* the process runs a new program: its mappings are gone */
	SIDEBAND_FORK,   /* pid/tid is new, a child of ppid */
	SIDEBAND_EXIT,   /* the thread tid has ended */
	SIDEBAND_KERNEL, /* kernel code was loaded or unloaded: a BPF program or trampoline */
	SIDEBAND_LOST,   /* n_lost records were lost: the known state may be stale */
};

struct sideband_event {
	enum sideband_type type;
	uint32_t pid, tid, ppid;
	uint64_t time_ns; /* CLOCK_MONOTONIC; SIDEBAND_LOST may have 0 */
	/* SIDEBAND_MAP: the mapping and the file behind it, inode 0 if there is none */
	uint64_t start, len, file_off;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t n_lost;
	const char *name; /* path of the file, or thread name; valid during the call */
};

typedef void (*sideband_fn)(void *ctx, const struct sideband_event *ev);

/* Position of a record in the pool. */
struct sideband_pending {
	uint64_t time_ns;
	size_t offset;
};

/* Copied records. Zero-initialize it; free it with sideband_queue_fini(). */
struct sideband_queue {
	struct {
		VEC(uint8_t);
	} pool;
	struct {
		VEC(struct sideband_pending);
	} pending;
};

void sideband_queue_fini(struct sideband_queue *q);

/**
 * sideband_queue_read() - copy all records out of a perf ring
 *
 * @ring is the mapped control page of @page bytes, followed by @data_len bytes of records, a
 * power of two. The kernel's side of the ring is trusted. The event must have sample_id_all with
 * PERF_SAMPLE_TID and PERF_SAMPLE_TIME. The read position is advanced, so the kernel may
 * overwrite the records afterwards.
 *
 * Return: 0 or -ENOMEM; then the remaining records stay in the ring.
 */
int sideband_queue_read(struct sideband_queue *q, void *ring, size_t page, size_t data_len);

/*
 * Calls @fn for the copied records up to CLOCK_MONOTONIC time @until_ns in order of time, equal
 * times in order of reading, and removes them. Records of types without a sideband_type are
 * skipped. Returns the number of calls.
 */
int sideband_queue_deliver(struct sideband_queue *q, uint64_t until_ns, sideband_fn fn, void *ctx);
