/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The threads that are off the CPU now. This module captures the stacks of long waits and, when a
 * window ends, counts the waits that have not ended. Waits that have ended arrive as records, which
 * record_decoder.h handles; offcpu.h does the accounting of both. One thread, the sampling one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/offcpu.h"

struct record_decoder;
struct sampler;

struct waiting_threads {
	/* Both are borrowed. */
	struct sampler *sampler;
	struct record_decoder *decoder;
	bool exclude_self; /* do not count waits of this process and its children */
	uint64_t next_capture_ns;
};

/* The states of threads at one time. Zeros are an empty list. */
struct waiting_states {
	struct {
		VEC(uint32_t);
	} tids;
	struct {
		VEC(struct off_thread);
	} threads; /* of the same index */
};

void waiting_states_fini(struct waiting_states *s);

/*
 * Adds the stacks of threads that have waited for long without a recorded stack; @since_ns is
 * passed to sampler_scan_sleepers(). Returns 0 or -errno.
 */
int waiting_threads_capture(struct waiting_threads *w, uint64_t since_ns);

/*
 * Calls waiting_threads_capture() unless the previous call was too recent: less than 150 ms ago,
 * plus 50 us for each known thread. Errors are ignored.
 */
void waiting_threads_capture_if_due(struct waiting_threads *w, uint64_t now_ns);

/* Captures stacks, then appends the states of all threads to @out. Returns 0 or -errno. */
int waiting_threads_read(struct waiting_threads *w, struct waiting_states *out);

/*
 * Counts the waits of @states up to @now_ns, and forgets threads that do not exist any more. All
 * records that were in the ring when the states were read must have been decoded. @is_last: no
 * window follows.
 */
void waiting_threads_count(const struct waiting_threads *w, const struct waiting_states *states,
			   uint64_t now_ns, bool is_last);

/* Scales the counts to the sums of their places (sample_counts_scale()) and starts a new window. */
void waiting_threads_end_window(const struct waiting_threads *w);
