/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the pages of all programs that are profiled, before faults are recorded and when the
 * recording ends. resident.h attributes pages; this module finds the programs. One thread, the
 * sampling one.
 */
#include <stdbool.h>

struct err;
struct process_table;
struct record_decoder;
struct resident;
struct resident_stats;
struct sampler;

struct resident_programs {
	/* All are borrowed. @resident is NULL if memory is not recorded: then nothing happens. */
	struct sampler *sampler;
	struct record_decoder *decoder;
	struct process_table *procs;
	struct resident *resident;
	bool targets_only; /* see struct sampler_opts */
	/*
	 * Called after each program was read. On a loaded machine, all of them take seconds, in
	 * which faults continue to arrive.
	 */
	void (*turn)(void *ctx);
	void *ctx;
};

/*
 * Reads which pages are present. Call it when faults are recorded. Returns 0, or -errno with @err.
 */
int resident_programs_snapshot(struct resident_programs *p, struct err *err);

/*
 * Reads which pages are resident. Call it while faults are still recorded. Returns 0 or -errno;
 * -ENOTSUP if the kernel refuses the iterator over all processes.
 */
int resident_programs_read(struct resident_programs *p);

/* Adds what was read to the counts of the decoder, which has all records. Returns 0 or -ENOMEM. */
int resident_programs_attribute(const struct resident_programs *p);

/* See resident_reap() and resident_stats(). */
void resident_programs_reap(const struct resident_programs *p);
void resident_programs_stats(const struct resident_programs *p, struct resident_stats *out);
