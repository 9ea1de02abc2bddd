/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The progress line of `cameo record` and the summary at its end, both on standard error. Nothing
 * that was lost is hidden: each counter of losses that is not 0 has a line here.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/package_hints.h"
#include "profiler/session.h"
#include "symbol/symbolizer.h"
#include "symbolize/symbolize.h"

struct event_list;

/* All pointers are borrowed until summary_print() returns. */
struct summary {
	enum symbolize_mode what; /* SYMBOLIZE_CPU if off-CPU time could not be recorded */
	struct session_stats session;
	struct symbolize_stats symbols;
	struct symbolizer_counters symbolizer;
	uint64_t duration_ns; /* without symbolization and output */
	uint64_t n_stacks;    /* distinct ones */
	/*
	 * CPU time of this process, without its helper processes: until sampling began, while
	 * sampling, and from then on with symbolization and output.
	 */
	uint64_t start_cpu_ns, sampling_cpu_ns, total_cpu_ns;
	const struct event_list *events; /* empty: the CPU clock was sampled */
	const char *path;                /* of the profile; "-": standard output */
	const struct langs *langs;       /* may be NULL */
	struct package_hints hints;      /* packages that would name functions */
	bool selects;                    /* rules exclude processes */
	bool verbose;                    /* print costs, and why names are missing */
};

/*
 * Overwrites the progress line, which must be on a terminal; summary_progress_end() erases it.
 * @elapsed_ns is the time since the recording started.
 */
void summary_progress(const struct session_stats *st, uint64_t elapsed_ns);
void summary_progress_end(void);

/* Prints the summary once, after the profile was written. */
void summary_print(const struct summary *s);
