/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbolizer thread. It receives the sample counts of one window and produces one profile
 * per label set, which it exports. One window at a time: the sampling thread submits the next
 * one when this one is done, so that symbolizing never delays sampling.
 *
 * The thread may run at a low priority, which it cannot raise again without privileges. When
 * the agent stops, symbolizer_thread_finish() therefore takes the work over and completes it
 * in the calling thread.
 *
 * All functions are for the sampling thread, except that symbolizer_thread_stats() may be
 * called from any.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbolizer.h"
#include "symbolize/symbolize.h"

struct sample_counts;
struct err;
struct export_window;
struct process_info_store;
struct labeler;
struct frame_symbols_opts;
struct symbolizer_thread;

struct symbolizer_thread_opts {
	const struct frame_symbols_opts *frame_symbols; /* copied; its lock must be set */
	struct process_info_store *process_info;        /* borrowed */
	struct labeler *labeler;                        /* owned from now on, also on failure */
	/*
	 * Both are called on the symbolizer thread, or by symbolizer_thread_finish(). export()
	 * owns @w. The message of log(), which may be NULL, is a line of logfmt.
	 */
	void (*export)(void *ctx, struct export_window *w);
	void (*log)(void *ctx, const char *message);
	void *ctx;
	/*
	 * Export a part of a window when its profiles hold this many bytes; 0: export windows
	 * whole.
	 */
	size_t part_bytes;
	int priority; /* nice value of the thread */
};

/* @opts is copied. Returns 0 or -errno; owns opts->labeler in either case. */
int symbolizer_thread_new(struct symbolizer_thread **out,
			  const struct symbolizer_thread_opts *opts);
/* Blocks until the window being symbolized is finished. */
void symbolizer_thread_free(struct symbolizer_thread *n);

DEFINE_FREEP(struct symbolizer_thread, symbolizer_thread_free)

/* Returns true if no window is being symbolized: the next one may be submitted. */
bool symbolizer_thread_is_idle(struct symbolizer_thread *n);

/*
 * Takes ownership of @c. Call only while symbolizer_thread_is_idle(), or after
 * symbolizer_thread_finish().
 */
void symbolizer_thread_submit(struct symbolizer_thread *n, struct sample_counts *c,
			      const struct symbolize_window *window);

/*
 * Stops the thread and completes its window in the calling thread, until CLOCK_MONOTONIC
 * reaches @deadline_ns; then the finished part is exported. May be called again after another
 * submission. Returns the number of samples that were not exported.
 */
uint64_t symbolizer_thread_finish(struct symbolizer_thread *n, uint64_t deadline_ns);

/*
 * From CLOCK_MONOTONIC time @until_ns on, no more symbols are looked up: frames without a
 * known symbol are exported as addresses. 0: no deadline.
 */
void symbolizer_thread_set_deadline(struct symbolizer_thread *n, uint64_t until_ns);

/* Uses labeler @l from the next window on, and owns it. */
void symbolizer_thread_set_labeler(struct symbolizer_thread *n, struct labeler *l);

/*
 * Requests that the thread free the memory that is kept only to speed up later windows: at once if
 * it is idle, otherwise after the present window. Returns without waiting.
 */
void symbolizer_thread_shrink(struct symbolizer_thread *n);

/* Sums since the start, except where a current state is named. */
struct symbolizer_thread_stats {
	struct symbolize_stats symbolize; /* see symbolize_stats_add() */
	struct symbolizer_counters symbolizer;
	uint64_t n_windows;         /* windows that were exported */
	uint64_t n_failed;          /* windows that were not, for lack of memory */
	uint64_t n_profiles;        /* exported series */
	uint64_t n_series_over;     /* profiles that lost labels to the limit of series */
	uint64_t n_samples_dropped; /* samples of programs that a rule drops */
	uint64_t n_unread;          /* profiles exported before all their labels were known */
	uint64_t n_waiting;         /* profiles that now wait for labels */
	uint64_t last_ns;           /* time that the last window took */
	size_t symbols_bytes;       /* memory now held by symbols and symbol tables */
	size_t n_series;            /* label sets now counted: see labeler_n_series() */
	int worker_pid;             /* pid of the symbolizer's worker process; 0: none runs */
};

/* Returns the state as of the end of the last window. Any thread may call it. */
void symbolizer_thread_stats(struct symbolizer_thread *n, struct symbolizer_thread_stats *out);
