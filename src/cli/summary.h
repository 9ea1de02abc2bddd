/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The progress line of `cameo record` and the summary at its end, both on standard error. Nothing
 * that was lost is hidden: each counter of losses that is not 0 has a line here.
 */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/session.h"
#include "symbol/symbolizer.h"
#include "symbolize/symbolize.h"

struct event_list;

struct summary {
	enum symbolize_mode what;
	struct session_stats session;
	struct symbolize_stats symbols;
	struct symbolizer_counters symbolizer;
	uint64_t duration_ns;
	uint64_t n_stacks;
	/* CPU time of this process: while sampling, and with symbolization and output */
	uint64_t sampling_cpu_ns, total_cpu_ns;
	const struct event_list *events;
	const char *path;
	const struct langs *langs; /* may be NULL */
	bool verbose;
};

/* Overwrites the progress line; summary_progress_end() erases it. */
void summary_progress(const struct session_stats *st, uint64_t elapsed_ns);
void summary_progress_end(void);

void summary_print(const struct summary *s);
