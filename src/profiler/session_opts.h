/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a session; zeros are a session with default limits. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/process_rules.h"
#include "sampler/sampler.h"

struct sample_counts_thread;

struct session_opts {
	struct sampler_opts sampler;
	bool signatures;    /* include the parameters in names of Java methods */
	bool keep_times;    /* remember the time of each sample */
	bool keep_cpus;     /* separate a thread's samples by CPU */
	uint32_t max_stack; /* frames to keep, from the leaf; 0: all */
	/*
	 * Memory limit of the counts: above it, deep stacks are truncated
	 * (sample_counts_truncate()); a quarter above it, samples are dropped
	 * (sample_counts_is_full()). 0: none.
	 */
	size_t max_counts_bytes;
	/*
	 * Limit for records that are queued while unwind tables are built; above it, stacks
	 * that need a new table are truncated. 0: 64 MiB.
	 */
	size_t max_backlog_bytes;
	uint64_t max_copies_bytes; /* of files of remote file systems; 0: 64 MiB */
	size_t max_mappings_bytes; /* of the mappings of all processes; 0: 64 MiB */
	/*
	 * Limits of the reader processes that make unwind tables (src/reader): their number, and
	 * the heap of each. 0: two, of 128 MiB.
	 */
	unsigned int n_readers;
	size_t reader_bytes;
	/*
	 * Heaps of the reader of language runtimes, and of that of perf maps and jitdumps. 0: 32
	 * and 24 MiB.
	 */
	size_t lang_reader_bytes, jit_reader_bytes;
	uint32_t sideband_bytes; /* each CPU's ring of process events; 0: 256 KiB */
	uint64_t stop_ns; /* longest time for which session_stop() builds tables; 0: no limit */
	/*
	 * With sampler.allocs: the share of the processes' CPU time that probes may take, in
	 * percent. 0: no limit.
	 */
	unsigned int alloc_share_max;
	bool exclude_self; /* ignore this process and its children */
	/* Keep the raised priority of the calling thread after session_stop(). */
	bool keeps_priority;
	/* With sampler.by_rules: which processes are profiled; see session_set_rules(). */
	struct process_rules rules;
	/* Called for a thread's first sample in this window. May be NULL. */
	void (*on_thread)(void *ctx, const struct sample_counts_thread *thread, uint32_t ppid);
	void *ctx;
};
