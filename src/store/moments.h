/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Single samples: when, in which thread, of which stack. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "store/times.h"

struct store_label;
struct stacks;

enum { MOMENTS_MAX = 500000 };

/* Told apart by pid and tid, and by name where there is no tid. */
struct moments_thread {
	int64_t pid, tid;
	uint32_t name, process; /* strings of the stacks' symbols */
	int64_t named_ns;       /* when it was called so */
};

struct moment {
	int64_t time_ns, value;
	uint32_t thread, node;
};

struct moments {
	int64_t pid, tid; /* only these; below 0: any */

	struct stacks *stacks; /* what the nodes are of, with the sums of all samples */
	struct {
		VEC(struct moment);
	} all;
	struct {
		VEC(struct moments_thread);
	} threads;
	struct index by_thread;
};

void moments_fini(struct moments *m);

/* What the labels of a series tell of its threads; texts are borrowed. */
struct moments_series {
	int64_t pid;
	const char *name, *process;
};

struct moments_series moments_series_of(const struct store_label *labels, size_t n);

/* Some of a window's samples, whose rows have these values. */
struct moments_window {
	const int64_t *times_ns;
	const struct times_owners *owners; /* as many as times */
	const uint32_t *nodes;             /* by row; numbers of the caller's */
	const int64_t *values;             /* by row */
	size_t n_rows;
};

/*
 * Add those in the range: with the window's nodes, until moments_map() has made them the stacks'.
 * Each sample of a row has the same part of its value. 0; -EFBIG; -ENOMEM.
 */
int moments_add(struct moments *m, const struct moments_series *series,
		const struct moments_window *w, int64_t start_ns, int64_t end_ns);

/* From moment @first on, @nodes says what the nodes are. */
void moments_map(struct moments *m, size_t first, const uint32_t *nodes);
