/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of a session: creates them in the order of their dependencies, connects them, and
 * divides the limits of struct session_opts among them. It neither starts nor drives them;
 * session.c does. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/resident_programs.h"

struct alloc_recording;
struct allocs;
struct err;
struct file_table;
struct jit_symbols;
struct lang_client;
struct langs;
struct process_table;
struct record_decoder;
struct ring_reader;
struct role_pool;
struct sample_counts;
struct sampler;
struct session_opts;
struct session_stats;
struct sideband;
struct unwind_tables;
struct unwind_walker;

/* All are owned; NULL before session_parts_open() and after session_parts_close(). */
struct session_parts {
	struct sampler *sampler;
	struct sideband *sideband;
	struct role_pool *readers;
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	struct lang_client *lang_client;
	struct langs *langs;
	struct file_table *files;
	struct process_table *procs;
	struct record_decoder *decoder;
	struct jit_symbols *jits;
	struct allocs *allocs;             /* NULL: allocations are not recorded */
	struct alloc_recording *recording; /* the same */
	struct resident_programs memory;   /* resident is owned; NULL: faults are not recorded */
	struct ring_reader *ring;
};

/* The functions of the same name in struct record_decoder_opts. */
struct session_hooks {
	void (*sync_processes)(void *ctx, uint64_t time_ns);
	bool (*build_table)(void *ctx, uint32_t file, bool may_wait);
	bool (*is_pending)(void *ctx, uint32_t file);
	void *ctx;
};

/*
 * Loads the BPF programs and creates all parts. @p must be zeros. Returns 0, or -errno, mostly with
 * the reason in @err; the caller then calls session_parts_close().
 */
int session_parts_open(struct session_parts *p, const struct session_opts *o,
		       const struct session_hooks *hooks, struct err *err);

/* Frees the parts that exist. */
void session_parts_close(struct session_parts *p);

/*
 * Starts the recording of memory: of resident pages, and of heap allocations. Returns 0, or -errno
 * with the reason in @err.
 */
int session_parts_start_memory(struct session_parts *p, struct err *err);
/* Follows the processes whose heap allocations are recorded; call it at each poll. */
void session_parts_update_allocs(struct session_parts *p);
/* Stops sampling, and removes all probes. */
void session_parts_detach(struct session_parts *p);
/* Adds what was recorded of memory to the counts, after the last record. Returns 0 or -errno. */
int session_parts_attribute(struct session_parts *p);
/* Returns 0, or -errno if the counters of the kernel cannot be read; n_cpu_errors is 0. */
int session_parts_stats(const struct session_parts *p, struct session_stats *out);

/* Forgets files that neither a process, nor the present counts, nor @kept refer to. */
void session_parts_sweep_files(struct session_parts *p, const struct sample_counts *kept,
			       uint64_t now_ns);
