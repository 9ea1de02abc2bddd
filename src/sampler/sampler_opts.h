/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options and callbacks of a sampler (sampler.h), which its parts share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/offcpu.h"

struct cpu_list;
struct event;

struct sampler_opts {
	uint32_t freq_hz;
	const struct event *events; /* borrowed */
	size_t n_events;            /* 0: the CPU clock, at freq_hz */
	bool kernel, user;          /* which parts of the stack to record */
	bool idle;                  /* sample idle CPUs too */
	bool no_children;           /* do not sample child processes of the targets */
	bool in_cgroup;             /* only tasks in cgroup_fd and its descendants */
	int cgroup_fd;              /* directory of the cgroup; borrowed */
	bool targets_only;          /* only processes of sampler_add_target() and their children */
	bool by_rules;              /* sampler_select() may exclude processes */
	bool all_native;            /* keep native frames of interpreters too */
	bool off_cpu;               /* record blocked time too */
	bool wakers;                /* with off_cpu: record the threads that end waits */
	bool faults;                /* record page faults */
	bool allocs;                /* record heap allocations */
	bool frees;                 /* with allocs: record which of them were freed */
	uint64_t alloc_bytes;       /* with allocs: mean bytes between two samples */
	bool no_samples;            /* record blocked time or page faults only */
	uint64_t off_min_ns;        /* ignore shorter waits */
	bool stats;                 /* measure the programs' run time */
	int stats_fd; /* from sampler_enable_stats(), owned from now on; 0 or -1: enable here */
	uint32_t max_chunks;
	uint32_t ring_bytes; /* a power of two, at least a page; 0: 4 MiB per CPU, at most 64 MiB */
	const struct cpu_list *cpus; /* NULL: all; borrowed */
};

/*
 * Called with one record of the ring buffer (bpf/shared/abi.h), @len bytes long and valid
 * during the call only.
 */
typedef void (*sampler_record_fn)(void *ctx, const void *record, size_t len);

/* A thread's off-CPU state (bpf/shared/offcpu.h), valid during the call. */
typedef void (*sampler_thread_fn)(void *ctx, uint32_t tid, const struct off_thread *t);
