/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pages of a process that are resident, from /proc/PID/smaps and /proc/PID/pagemap. Needs the
 * permission to trace the process. The kernel holds the process's lock of mappings for short
 * times, so a process that holds it itself makes the caller wait; a process that must not wait
 * therefore has another one read (opener/opener.h). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proc/maps.h"

struct err;

enum { PROC_PAGE_BYTES = 4096 };

/* Neighbouring resident pages of one kind. */
struct proc_pages {
	uint64_t start, end; /* addresses */
	bool is_file;        /* of a file or of shared memory, else anonymous */
	bool is_huge;        /* mapped as a whole by an entry of 2 MiB */
};

/* A mapping with resident pages; the path in @map is valid during the call. */
struct proc_resident_mapping {
	struct proc_map map;
	uint64_t rss_bytes; /* as the kernel counts it in the process's Rss */
};

/* A non-zero result ends the reading, which returns it. */
typedef int (*proc_pages_fn)(void *ctx, const struct proc_pages *pages);
typedef int (*proc_resident_mapping_fn)(void *ctx, const struct proc_resident_mapping *m);

/*
 * Calls @fn for each mapping of which pages are resident, in order of address. The sum of their
 * rss_bytes is the process's Rss. Returns 0 or @fn's result; -ESRCH if the process is gone or has
 * no memory (a kernel thread, a process that has ended); -errno.
 */
int proc_resident_mappings(uint32_t pid, proc_resident_mapping_fn fn, void *ctx, struct err *err);

/*
 * Opens /proc/PID/pagemap, for the functions below. Returns a descriptor; -ESRCH if the process is
 * gone or has no memory and its files belong to another user; -errno.
 */
int proc_pages_open(uint32_t pid);

/*
 * Calls @fn for the resident pages from @start to @end in order of address. The zero page, which a
 * read of untouched memory maps, is not resident. Returns 0, @fn's result, or -errno; -ENOTTY if
 * the kernel lacks the call (before 6.7).
 */
int proc_pages_scan(int fd, uint64_t start, uint64_t end, proc_pages_fn fn, void *ctx);

/*
 * Does the same on any kernel, for at most @max_bytes of resident pages, which bounds the time that
 * it takes in a mapping that is mostly absent. It can neither recognize the zero page nor is_huge.
 * Ranges of more than 64 GiB are not read (-EFBIG).
 */
int proc_pages_read(int fd, uint64_t start, uint64_t end, uint64_t max_bytes, proc_pages_fn fn,
		    void *ctx);

/* The resident memory of a process in bytes, which needs no lock; 0: unknown. */
uint64_t proc_resident_bytes(uint32_t pid);

/* Receives what proc_resident_read() finds. */
struct proc_resident_sink {
	proc_resident_mapping_fn mapping; /* NULL: pages are read without mappings */
	proc_pages_fn pages;              /* those of a mapping follow it */
	void *ctx;
};

/*
 * Passes the resident pages of a process to @sink, and the mappings that have any; all in order of
 * address. Pages of a mapping that cannot be read are missing. Returns 0; what a function of @sink
 * returned, which ends the reading; -ESRCH as above; -ENOTTY without mappings if the kernel lacks
 * the call; -ETIMEDOUT if a reader had to wait too long; -errno.
 */
int proc_resident_read(uint32_t pid, const struct proc_resident_sink *sink);

/* Does the same in this thread, even if proc_resident_set_reader() was called. */
int proc_resident_read_here(uint32_t pid, const struct proc_resident_sink *sink);

typedef int (*proc_resident_reader_fn)(void *reader, uint32_t pid,
				       const struct proc_resident_sink *sink);

/* Makes proc_resident_read() use @read. Call it while no other thread reads. */
void proc_resident_set_reader(proc_resident_reader_fn read, void *reader);
