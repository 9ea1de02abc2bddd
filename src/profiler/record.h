/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One record of the ring buffer (bpf/shared/abi.h): whether it is valid, which thread it is about,
 * and whether that thread belongs to the profiler. It does not interpret the stack;
 * record_decoder.h does. The functions have no state.
 */
#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/abi.h"
#include "profiler/sample_counts.h"

struct process;
struct process_table;

/*
 * Returns true if the record of @len bytes at @h has a known type and contains everything that its
 * fields announce. Check this before any other use of the record.
 */
bool record_is_valid(const struct record_header *h, size_t len);

/* Identifies the thread of a record. @p: its process; NULL: unknown. */
struct sample_counts_thread record_thread(const struct process *p, const struct record_header *h);

/*
 * Returns true if the record is about this process, its children, or those of its children that
 * start others (roles/launcher.h). @p: its process; NULL: unknown.
 */
bool record_is_own(struct process_table *procs, const struct process *p,
		   const struct record_header *h);

/*
 * Returns true if the record is a sample that was taken before the kernel knew that rules exclude
 * its process. Rules do not apply to the idle task. Records of waits are not excluded here, because
 * each begin needs its end.
 */
bool record_is_excluded(struct process_table *procs, const struct process *p,
			const struct record_header *h);

/*
 * Copies the context at the end of a valid record of @len bytes. Return: 1; 0 if it has none;
 * -EBADMSG.
 */
int record_context(const struct record_header *h, size_t len, struct context *out);

/* Copies the frames of runtimes' lists that were read with the sample to @out. */
void record_copy_lists(const struct raw_record *rec, uint64_t out[RAW_VM_WORDS_MAX]);

/* Marks the stack of @n words of a record as found by search. */
void record_mark_searched(const struct record_header *h, uint64_t *words, size_t n);

/*
 * If a mapping in the stack of @p had been replaced when the BPF program walked it, copies the
 * words up to the first frame that may belong to other code, and appends an error word. Return: the
 * number of words; 0 if there is no such frame.
 */
size_t record_cut_replaced(const struct process *p, const struct sample_record *rec,
			   uint64_t out[RECORD_WORDS_MAX]);

/* True if the walk ended at an address outside of all known mappings. */
bool record_ends_unmapped(const uint64_t *words, size_t n);
