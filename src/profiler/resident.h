/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Attributes each resident page of a process to the stack that touched it first. Page faults
 * provide the stacks, and the kernel's page tables decide what is resident. So the sum is the
 * process's Rss even if faults were missed, and munmap(), madvise(), reclaim and exit need no
 * attention.
 *
 * Use: resident_snapshot() for each program once faults are recorded, resident_begin() and
 * resident_touch() for their records, resident_read() for each program when the recording ends, and
 * after the last record resident_attribute(). One thread.
 *
 * A page that is present at the end belongs to
 * 1. the stack of its last fault that made it present. A write that was not allowed yet (a page
 * that had only been read, or that is shared since a fork) does so only if the page had not been
 *    written before;
 * 2. else, in a process that was forked, the stack by which its parent touched the page;
 * 3. else, if it was present at the snapshot, [present before the recording];
 * 4. else the nearest page with a stack within 64 KiB, since the kernel maps several pages at one
 *    fault; within 2 MiB if one huge page maps them;
 * 5. else the stack that mapped it during the recording: with MAP_POPULATE, for example, no
 *    exception is raised;
 * 6. else [fault not seen], for example by mlock().
 * The stacks of 3. and 6. are this text and the name of the mapping, as FRAME_TEXT words.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct record_header;
struct resident;
struct sample_counts;
struct sample_counts_thread;
struct sample_labels;

struct resident_stats {
	uint64_t n_no_room;  /* faults whose page was not recorded, for lack of memory */
	uint64_t n_unread;   /* programs whose pages could not be read at the end */
	uint64_t n_programs; /* that were read */
	/*
	 * The sum of the Rss of these programs, the parts of it that have no stack, and the part
	 * that has the stack of a neighbouring page.
	 */
	uint64_t bytes, before_bytes, unseen_bytes, near_bytes;
};

/* The kinds of memory: sample_counts_sample.memory. */
enum resident_kind {
	RESIDENT_NONE,
	RESIDENT_ANONYMOUS,
	RESIDENT_FILE, /* of a file, or shared memory */
	RESIDENT_KIND_MAX,
};

/* @max_bytes limits the memory for pages and stacks. Returns 0 or -ENOMEM. */
int resident_new(struct resident **out, size_t max_bytes);
void resident_free(struct resident *r);

DEFINE_FREEP(struct resident, resident_free)

/* Reads which pages of the program of @h are present. A program that cannot be read has none. */
void resident_snapshot(struct resident *r, const struct record_header *h);

/* Handles a RECORD_PROGRAM. */
void resident_begin(struct resident *r, const struct record_header *h);

/* Handles the stack of a RECORD_FAULT or RECORD_MAPPED: @n words, leaf first. */
void resident_touch(struct resident *r, const struct record_header *h,
		    const struct sample_counts_thread *thread, const struct sample_labels *labels,
		    const uint64_t *words, size_t n);

/* Handles RECORD_MAPPED. Call it for each such record in order, before its stack is known. */
void resident_map(struct resident *r, const struct record_header *h);

/* Returns true if the pid's program was seen: by a snapshot, a fault, or as it began. */
int resident_knows(const struct resident *r, uint32_t pid);

/* Forgets the processes that have ended. */
void resident_reap(struct resident *r);

/*
 * Reads which pages of the program of @h are resident; @main_thread is its main thread, to which
 * memory without a stack of its own belongs.
 */
void resident_read(struct resident *r, const struct record_header *h,
		   const struct sample_counts_thread *main_thread);

/* Adds the bytes of all programs that were read to @to. Returns 0 or -ENOMEM. */
int resident_attribute(struct resident *r, struct sample_counts *to);

/* Returns the text of a FRAME_TEXT word's payload; "" if there is none. Borrowed. */
const char *resident_text(const struct resident *r, uint64_t payload);

size_t resident_bytes(const struct resident *r);
void resident_stats(const struct resident *r, struct resident_stats *out);
