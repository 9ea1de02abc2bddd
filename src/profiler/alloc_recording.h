/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drives the probes at functions of allocators: finds these functions in the files that the
 * followed processes map, attaches probes to each process, and detaches them when it has ended. It
 * limits the cost: when the probes take more than a share of the processes' CPU time, those at
 * allocations are detached until the average is below it again; what is allocated meanwhile is not
 * counted. The probes at free() stay, so that blocks in use remain right. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct alloc_recording;
struct err;
struct file_table;
struct process_table;
struct role_pool;
struct sampler;

struct alloc_recording_opts {
	/* All of these are borrowed. */
	struct sampler *sampler;
	struct process_table *procs;
	struct file_table *files;
	struct role_pool *readers;
	bool frees;             /* follow what becomes of sampled blocks */
	unsigned int share_max; /* of the processes' CPU time, in percent; 100: no limit */
};

struct alloc_recording_stats {
	uint64_t n_processes; /* in which probes were set */
	uint64_t n_refused;   /* processes and files where the kernel refused a probe */
	int refusal;          /* -errno of the first refusal */
	uint64_t n_unread;    /* files that no reader could read */
	uint64_t n_throwing;  /* files with an operator new of their own, which is not followed */
	uint64_t paused_ns, recorded_ns; /* parts of the recording */
	uint64_t n_pauses;
	double share; /* of the processes' CPU time that probes took, by the kernel's known costs */
};

/* Returns 0 or -ENOMEM. */
int alloc_recording_new(struct alloc_recording **out, const struct alloc_recording_opts *opts);
void alloc_recording_free(struct alloc_recording *a);

DEFINE_FREEP(struct alloc_recording, alloc_recording_free)

/*
 * Sets probes in the processes that are followed. Returns 0; -ENOENT if no file of any of them has
 * functions of an allocator, or if the kernel refuses all probes, with the reason in @err.
 */
int alloc_recording_start(struct alloc_recording *a, struct err *err);

/* Sets and removes probes as processes come and go, and checks the cost. Call it at each poll. */
void alloc_recording_update(struct alloc_recording *a, uint64_t now_ns);

/* Removes all probes. */
void alloc_recording_stop(struct alloc_recording *a);

void alloc_recording_stats(const struct alloc_recording *a, struct alloc_recording_stats *out);
