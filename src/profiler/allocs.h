/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums sampled heap allocations by stack: what was allocated, and what is still in use. A sampled
 * allocation of S bytes stands for 1 / (1 - e^(-S/mean)) allocations of its size, where mean is
 * that of the bytes between two samples; that is how tcmalloc and Go scale theirs, too.
 *
 * Use: allocs_add() and allocs_end() for the records in the order of decoding, and
 * allocs_attribute() after the last one. A record whose stack has to wait may come after that of
 * its block's end. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct allocs;
struct record_header;
struct sample_counts;
struct sample_counts_thread;
struct sample_labels;

struct allocs_stats {
	uint64_t n_samples, n_ended; /* sampled allocations, and those of them that are over */
	uint64_t n_no_room;       /* sampled allocations that were not counted, or not followed */
	double bytes, live_bytes; /* estimated sums */
	double bytes_error;       /* standard deviation of bytes, due to sampling */
};

/*
 * @mean_bytes: mean of the bytes between two samples. @frees: the ends of allocations are recorded.
 * @max_bytes limits the memory for stacks and blocks. Returns 0 or -ENOMEM.
 */
int allocs_new(struct allocs **out, uint64_t mean_bytes, bool frees, size_t max_bytes);
void allocs_free(struct allocs *a);

DEFINE_FREEP(struct allocs, allocs_free)

/* Handles the stack of a RECORD_ALLOC: @n words, leaf first. */
void allocs_add(struct allocs *a, const struct record_header *h,
		const struct sample_counts_thread *thread, const struct sample_labels *labels,
		const uint64_t *words, size_t n);

/* Handles a RECORD_FREED. */
void allocs_end(struct allocs *a, const struct record_header *h);

/* Adds the sums to @to. Returns 0 or -ENOMEM. */
int allocs_attribute(const struct allocs *a, struct sample_counts *to);

void allocs_stats(const struct allocs *a, struct allocs_stats *out);
