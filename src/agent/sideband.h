/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What processes do, as it happens: perf side-band records (exec, fork, exit,
 * mappings) of every CPU, merged by time. Threads other than their process's
 * first are told only by fork and exit events with tid != pid.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct sideband;

enum sideband_type {
	SIDEBAND_MAP,  /* an executable mapping has appeared */
	SIDEBAND_COMM, /* a thread has a new name */
	SIDEBAND_EXEC, /* the process runs a new program: its mappings are gone */
	SIDEBAND_FORK, /* pid/tid is new, a child of ppid */
	SIDEBAND_EXIT,
	SIDEBAND_LOST, /* records were lost: what is known may be stale */
};

struct sideband_event {
	enum sideband_type type;
	uint32_t pid, tid, ppid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t start, len, file_off;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t n_lost;
	const char *name; /* file or comm; valid for the call */
};

typedef void (*sideband_fn)(void *ctx, const struct sideband_event *ev);

int sideband_open(struct sideband **out, struct err *err);
void sideband_free(struct sideband *sb);

DEFINE_FREEP(struct sideband, sideband_free)

/* Also on CPUs that have come online since. */
int sideband_update_cpus(struct sideband *sb, struct err *err);

/* The CPU was offline: what it tells was lost with its ring. */
int sideband_reopen_cpu(struct sideband *sb, int cpu, struct err *err);

/* An epoll descriptor that is readable as soon as anything happened. */
int sideband_fd(const struct sideband *sb);

/* Deliver all that has happened, in order of time. Number of events, or -errno. */
int sideband_consume(struct sideband *sb, sideband_fn fn, void *ctx);
