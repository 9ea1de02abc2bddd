/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel side of profiling: loads the BPF programs, attaches them to events (by default a
 * clock on every online CPU), and delivers the records of the ring buffer. It does not
 * interpret records and knows no processes or files; it owns the maps that the unwind tables
 * and process descriptions are written to.
 *
 * Order of use: sampler_open(), fill the tables, sampler_attach(), then sampler_consume() and
 * sampler_update_cpus() in a loop. One thread, except that sampler_consume() and sampler_fd()
 * are called under ring_reader's lock.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "sampler/alloc_probe.h"
#include "sampler/cpu_list.h"
#include "sampler/sampler_memory.h"
#include "sampler/sampler_opts.h"
#include "sampler/sampler_processes.h"
#include "sampler/sampler_tables.h"

struct err;
struct sampler;

/*
 * Makes the kernel account the run time of BPF programs while the returned descriptor is
 * open. -1: not permitted.
 */
int sampler_enable_stats(void);

/**
 * sampler_open() - load the programs and create their maps
 *
 * Samples nothing yet. @opts is copied, the pointers in it are borrowed. Needs BTF, the
 * host's pid namespace, and CAP_BPF and CAP_PERFMON (or root).
 *
 * Return: 0; -ENOENT without BTF, -EPERM without privileges, or the kernel's -errno, with the
 * remedy in @err.
 */
int sampler_open(struct sampler **out, const struct sampler_opts *opts, struct err *err);
void sampler_free(struct sampler *s);

DEFINE_FREEP(struct sampler, sampler_free)

/* Starts sampling on every online CPU. */
int sampler_attach(struct sampler *s, struct err *err);
/**
 * sampler_update_cpus() - follow CPUs that go offline and come online
 *
 * A perf event does not survive its CPU's going offline. This opens events on CPUs without
 * one, after closing those that have not counted since the previous call. Call it about once
 * a second. CPUs that were offline and are back are appended to @back. Return: 0 or -errno.
 */
int sampler_update_cpus(struct sampler *s, struct cpu_list *back, struct err *err);
/*
 * Stops sampling (@pause) or resumes it. Do not call sampler_update_cpus() while paused: it would
 * mistake paused events for dead ones. Returns 0 or -errno.
 */
int sampler_pause(struct sampler *s, bool pause);
/* Stops sampling permanently. Records that are in the ring can still be consumed. */
void sampler_detach(struct sampler *s);

/* See alloc_probe.h; with sampler_opts.allocs. They return 0 or -errno. */
int sampler_set_alloc_file(struct sampler *s, uint32_t file,
			   const struct allocator_function *functions, size_t n);
int sampler_attach_alloc(struct sampler *s, const struct alloc_place *place,
			 enum alloc_probe_part part, int *fds, size_t *io_n);

/*
 * Why off-CPU time is not recorded although it was requested, and the remedy; NULL if it is
 * recorded. Valid as long as @s.
 */
const char *sampler_offcpu_error(const struct sampler *s);

/*
 * Calls @fn for every thread that the off-CPU programs know, running or not. Returns 0 or
 * -errno.
 */
int sampler_each_thread(struct sampler *s, sampler_thread_fn fn, void *ctx);

/*
 * Delivers a record for each thread that has been off the CPU for long without a recorded
 * stack: a RECORD_RAW without stack bytes, once per wait. If @since_ns is not 0, threads that
 * sleep but are not known yet are included, as off the CPU since then. Needs the task
 * iterator of Linux 5.8; older kernels deliver nothing. Returns 0 or -errno.
 */
int sampler_scan_sleepers(struct sampler *s, uint64_t since_ns, sampler_record_fn fn, void *ctx);

/* Off-CPU state of one thread. Returns 0 or -ENOENT. */
int sampler_get_thread(struct sampler *s, uint32_t tid, struct off_thread *out);

/* Removes the state of a thread that has ended. */
void sampler_remove_thread(struct sampler *s, uint32_t tid);

/*
 * Calls @fn with a RECORD_PROGRAM for each process that exists, including zombies. The record of a
 * process in the middle of an exec has the flag RECORD_IN_EXEC, because the identity is just
 * changing. Returns 0 or -errno, -ENOTSUP if the kernel refused the iterator.
 */
int sampler_each_program(struct sampler *s, sampler_record_fn fn, void *ctx);

/* Calls @fn for all records in the ring. Returns the number of records, or -errno. */
int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx);
/* A descriptor that becomes readable when the ring is more than half full. */
int sampler_fd(const struct sampler *s);

struct sampler_stats {
	struct counters counts; /* summed over all CPUs */
	uint64_t
		/*
		 * Run time of the sampling programs: the kernel's accounting with
		 * sampler_opts.stats, else their own.
		 */
		run_ns;
	uint64_t run_count;
	uint32_t n_cpus;
	uint64_t maps_bytes;   /* kernel memory of the BPF maps */
	uint64_t mapped_bytes; /* the part of maps_bytes that is also in this process's RSS */
	/*
	 * BPF programs for the languages that were seen: number loaded, number that the kernel
	 * refused, CPU time of loading
	 */
	uint32_t n_language_programs, n_language_programs_refused;
	uint64_t language_programs_ns;
};
int sampler_stats(const struct sampler *s, struct sampler_stats *out);

/* kernel.perf_event_max_sample_rate in Hz, or 0 if it cannot be read. */
uint32_t sampler_max_freq(void);
