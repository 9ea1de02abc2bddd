/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Divides the limit of --memory among everything that grows: rings and per-CPU state in the kernel,
 * tables, counts, queues, the symbolizer, the readers, and what openers return or keep. The parts
 * together stay within the limit on every number of CPUs. Pure; any thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct err;

/* The plan provides for these. Sizes in bytes. */
struct memory_needs {
	uint64_t limit;         /* of RSS, BPF maps and child processes together */
	uint64_t fixed_bytes;   /* of BPF maps, whatever the number of CPUs is */
	uint64_t per_cpu_bytes; /* of BPF maps, for each possible CPU */
	uint32_t n_cpus;        /* possible CPUs, at least 1 */
	uint64_t queue_bytes;   /* of profiles that wait for a receiver */
	uint64_t scrape_bytes;  /* of scraping; 0: nothing is scraped */
	bool hung_are_released; /* the kernel releases the memory of killed children that hang */
};

/* Limits in bytes of each part. */
struct memory_plan {
	uint64_t limit;
	uint64_t fixed_bytes;    /* code, data, children and BPF maps that do not shrink */
	uint32_t ring_bytes;     /* the ring of samples; a power of two */
	uint32_t sideband_bytes; /* each CPU's ring of process events; a power of two */
	uint64_t queue_bytes;
	uint64_t tables;      /* unwind tables and mappings */
	uint64_t worker_rss;  /* the symbolizer process, with the files that it has mapped */
	uint64_t worker;      /* its heap, part of worker_rss */
	uint64_t readers;     /* the processes that make unwind tables, all together */
	uint32_t n_readers;   /* how many of them may run at the same time */
	uint64_t lang_reader; /* the process that reads language runtimes */
	uint64_t jit_reader;  /* the one that reads perf maps and jitdumps; part of worker_rss */
	uint64_t addresses;   /* cache of symbolized addresses */
	uint64_t symbols;     /* symbol tables, part of worker */
	uint64_t scripts;     /* symbols of interpreted functions that are no longer in use */
	uint64_t backlog;     /* records queued while unwind tables are built */
	uint64_t counts;      /* samples are dropped a quarter above it */
	uint64_t window;      /* part of counts: a window ends early above it */
	uint64_t part;        /* profiles that are built at a time */
	uint64_t copies;      /* of files of remote file systems */
	uint64_t opened_maps; /* the list of a process's mappings, while it is read */
	uint64_t mappings;    /* of all processes, besides their copies in tables */
	unsigned int n_hung;  /* openers that may hang, and the bytes that they occupy */
	uint64_t hung_bytes;
};

/**
 * memory_plan_make() - divide the limit
 *
 * The rings shrink before anything else does: to 32 KiB of process events and 8 KiB of samples for
 * each CPU.
 *
 * Return: 0; -EINVAL if the limit is too small, with the limit that would do in @err.
 */
int memory_plan_make(struct memory_plan *out, const struct memory_needs *needs, struct err *err);

/* The sum of all parts, which is at most the limit. */
uint64_t memory_plan_total(const struct memory_plan *plan, uint32_t n_cpus);
