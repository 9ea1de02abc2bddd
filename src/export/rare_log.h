/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log lines of which one per minute is written and the others are counted: an outage of a day would
 * otherwise fill the log. Not locked: the caller holds a lock.
 */
#include <stdbool.h>
#include <stdint.h>

enum { RARE_LOG_LINE_MAX = 400 };

/* Zero-initialize it. */
struct rare_log {
	uint64_t next_ns; /* CLOCK_MONOTONIC */
	uint64_t n_muted;
};

struct rare_log_state {
	uint64_t n_waiting, n_dropped; /* requests */
};

/* Returns true if a line may be written now; counts the line as muted otherwise. */
bool rare_log_is_due(struct rare_log *l);

/* Allows the next line regardless of when the previous one was written. */
void rare_log_make_due(struct rare_log *l);

/* Formats "NAME: WHAT; N waiting; N dropped so far (and N more such messages)". */
void rare_log_format(struct rare_log *l, const char *name, const char *what,
		     const struct rare_log_state *state, char line[RARE_LOG_LINE_MAX]);
