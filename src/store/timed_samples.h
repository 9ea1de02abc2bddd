/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Individual samples of a time range, each with its time, thread and stack. Not thread-safe. A
 * query over many windows fills one object; stacks, threads and samples grow together and are freed
 * together.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "store/sample_times.h"

struct store_label;
struct merged_stacks;

enum { TIMED_SAMPLES_MAX = 500000 };

/* Identified by pid and tid; by pid and name where tid is 0. */
struct timed_samples_thread {
	int64_t pid, tid;
	uint32_t name, process; /* string ids of stacks->dict */
	int64_t named_ns;       /* time of the sample that gave the name */
};

struct timed_sample {
	int64_t time_ns, value;
	uint32_t thread, node;
};

/*
 * Zero-initialize all but the filter; stacks is created by the store and freed by
 * timed_samples_fini().
 */
struct timed_samples {
	int64_t pid, tid; /* filter set by the caller; negative means any */

	struct merged_stacks
		*stacks; /* the nodes' dictionary, and the sum of all samples by node */
	struct {
		VEC(struct timed_sample);
	} all;
	struct {
		VEC(struct timed_samples_thread);
	} threads;
	struct index by_thread;
};

void timed_samples_fini(struct timed_samples *m);

/* The thread and process of a series by its labels, from which the texts are borrowed. */
struct timed_samples_series {
	int64_t pid;
	const char *name, *process;
};

/*
 * Takes pid, thread and process name from Cameo's or OpenTelemetry's labels. Missing labels are ""
 * and 0; the texts are borrowed from @labels.
 */
struct timed_samples_series timed_samples_series_of(const struct store_label *labels, size_t n);

/* A part of a window's samples and the values of the rows to which they belong. */
struct timed_samples_window {
	const int64_t *times_ns;
	const struct sample_owners *owners; /* one for each of times_ns */
	const uint32_t *nodes;              /* indexed by row; in the caller's numbering */
	const int64_t *values;              /* indexed by row */
	size_t n_rows;
};

/*
 * Adds the samples that lie within the range (both ends included). A row's value is divided evenly
 * among its samples. Nodes stay in the caller's numbering until timed_samples_map_nodes(). Returns
 * 0, -EFBIG beyond TIMED_SAMPLES_MAX, or -ENOMEM. Samples with a share of 0 are omitted.
 * After an error @m holds a part of the window and can only be freed.
 */
int timed_samples_add(struct timed_samples *m, const struct timed_samples_series *series,
		      const struct timed_samples_window *w, int64_t start_ns, int64_t end_ns);

/* Replaces the node n of each sample from index @first on by nodes[n]. */
void timed_samples_map_nodes(struct timed_samples *m, size_t first, const uint32_t *nodes);
