/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Individual samples by thread: a table of threads, and the tree with timestamps that the page
 * draws. Individual samples exist only where a sender keeps timestamps; other windows contribute
 * nothing.
 */
#include <stdint.h>

#include "base/vec.h"

struct err;
struct timed_samples;
struct page_tree;
struct store;
struct store_select;

struct threads_row {
	uint32_t thread; /* index in the samples' threads */
	uint64_t n;      /* samples */
	int64_t value, first_ns, last_ns;
};

struct threads {
	VEC(struct threads_row); /* most samples first */
};

void threads_fini(struct threads *t);

/*
 * Fetches the samples in the range, also those of windows that began before it. Returns the same
 * values as store_samples().
 */
int threads_samples(struct timed_samples *out, struct store *s, const struct store_select *sel,
		    struct err *err);

/* Builds the table of the threads in @m. Returns 0 or -ENOMEM. */
int threads_build(struct threads *out, const struct timed_samples *m);

/*
 * Builds the tree; its texts are borrowed from @m. Returns 0, -EFBIG if it has more than
 * PRUNE_MAX_NODES nodes, or -ENOMEM. It is not pruned, because the samples refer to its nodes by
 * number.
 */
int threads_tree(struct page_tree *out, const struct timed_samples *m,
		 const struct store_select *sel);
