/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Labels the profiles of a window's programs, merges those with equal labels into one series and
 * exports the series of a window together. Does not symbolize: symbolizer_thread.h does, which
 * calls this module for each program.
 *
 * Some attributes of a program are read asynchronously (metadata/process_info.h). A profile whose
 * program is still being read is held and exported with a later window's, under the time of its
 * own window; after four windows, or when the agent stops, it is exported with the labels known by
 * then, which n_unread counts.
 *
 * One thread at a time: the symbolizer thread, and after its end the thread that completes its
 * work.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolize/window.h"

struct export_window;
struct labeler;
struct process_info_store;
struct profile;
struct sample_counts_thread;
struct series_exporter;

struct series_exporter_opts {
	struct process_info_store *process_info;            /* borrowed */
	void (*export)(void *ctx, struct export_window *w); /* owns @w */
	void *ctx;
	size_t part_bytes; /* see symbolizer_thread_opts.part_bytes */
};

/* Sums since the start; n_waiting and n_series are current. */
struct series_exporter_stats {
	uint64_t n_profiles;        /* exported ones */
	uint64_t n_series_over;     /* profiles that lost labels to the limit of series */
	uint64_t n_samples_dropped; /* samples of programs that a rule drops */
	uint64_t n_unread;          /* profiles exported before all labels were known */
	uint64_t n_waiting;         /* held profiles */
	size_t n_series;            /* see labeler_n_series() */
};

/* @opts is copied. Owns @labeler from now on, also on failure. Returns 0 or -ENOMEM. */
int series_exporter_new(struct series_exporter **out, const struct series_exporter_opts *opts,
			struct labeler *labeler);
/* Held profiles and those of an unfinished window are freed, not exported. */
void series_exporter_free(struct series_exporter *e);

DEFINE_FREEP(struct series_exporter, series_exporter_free)

/*
 * Replaces the labeler and owns @l. Call it between windows, so that all programs of a window get
 * their labels by the same rules.
 */
void series_exporter_set_labeler(struct series_exporter *e, struct labeler *l);

/* From now on, no profile waits for labels. Call it before the last window. */
void series_exporter_set_last(struct series_exporter *e);

/* Starts a window at the CLOCK_MONOTONIC time @now_ns, without profiles. */
void series_exporter_begin(struct series_exporter *e, const struct symbolize_window *window,
			   uint64_t now_ns);

/*
 * A symbolize_filter_fn with a struct series_exporter as @ctx: false if a rule drops the program,
 * which therefore need not be symbolized.
 */
bool series_exporter_filter(void *ctx, const struct sample_counts_thread *thread, uint64_t n);

/*
 * A symbolize_output_fn with a struct series_exporter as @ctx: adds the profile of a program, or
 * holds it, and owns @p also on failure. Exports the series so far when they exceed part_bytes.
 * Returns 0 or -ENOMEM.
 */
int series_exporter_add(void *ctx, const struct sample_counts_thread *thread,
			enum symbolize_mode mode, struct profile *p);

/*
 * Ends the window: exports its series, and the held profiles that need not wait any longer.
 * Returns 0; or -ENOMEM, after which the series of the window are gone.
 */
int series_exporter_end(struct series_exporter *e);

/* Ends the window without exporting its series; held profiles stay. */
void series_exporter_discard(struct series_exporter *e);

/* Exports the held profiles that need not wait any longer, without a window. */
void series_exporter_flush(struct series_exporter *e, uint64_t now_ns);

void series_exporter_stats(const struct series_exporter *e, struct series_exporter_stats *out);
