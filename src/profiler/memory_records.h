/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Passes records about memory (page faults, new mappings, heap allocations), which the decoder does
 * not count itself, to the modules that do. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocs;
struct record_header;
struct resident;
struct sample_counts_thread;
struct sample_labels;

/* A member is NULL if such records are not requested; they are ignored then. Borrowed. */
struct memory_records {
	struct resident *resident;
	struct allocs *allocs;
};

/*
 * Handles a record before its stack is known. @is_resumed: it was handled before. Returns true if
 * it has no stack, so that nothing is left to do.
 */
bool memory_records_begin(const struct memory_records *m, const struct record_header *h,
			  bool is_resumed);

/* Handles the stack of a record, @n words, leaf first. Returns false if it is not about memory. */
bool memory_records_stack(const struct memory_records *m, const struct record_header *h,
			  const struct sample_counts_thread *thread,
			  const struct sample_labels *labels, const uint64_t *words, size_t n);
