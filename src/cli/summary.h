/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is said on standard error while recording and after it. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/names.h"
#include "agent/session.h"
#include "symbol/symbolizer.h"

struct event_list;
struct langs;

struct summary {
	enum names_what what;
	struct session_stats session;
	struct names_stats names;
	struct symbolizer_counters symbolizer;
	uint64_t duration_ns;
	uint64_t n_stacks;
	uint64_t sampling_cpu_ns,
		total_cpu_ns; /* our own CPU time: while sampling, and with the naming */
	const struct event_list *events;
	const char *path;
	const struct langs *langs; /* may be NULL */
	bool verbose;
};

void summary_progress(const struct session_stats *st, uint64_t elapsed_ns);
void summary_progress_end(void);
void summary_print(const struct summary *s);
