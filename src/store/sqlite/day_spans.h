/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first and the last window of each series of a day, by which queries skip series outside of
 * their range. Only committed windows count. Functions that change spans belong to the thread that
 * appends.
 */
#include "base/vec.h"
#include "store/sqlite/day_query.h"

struct arrivals;
struct err;
struct sqlite3;

/* A window of a transaction. */
struct span_window {
	uint32_t series;
	int64_t time_ns;
};

struct span_windows {
	VEC(struct span_window);
};

/*
 * Reads the spans of all series of the dictionary from a file, of which @a arrived last. Nobody
 * else uses the day. Returns 0; -EBADMSG if a series is missing; -errno.
 */
int day_spans_load(struct day_state *d, struct sqlite3 *db, const struct arrivals *a,
		   struct err *err);

/*
 * Adds empty spans for new series, so that day_spans_widen() cannot fail. Call it before a commit,
 * and day_spans_widen() after it. Returns 0 or -ENOMEM.
 */
int day_spans_make(struct day_state *d);
void day_spans_widen(struct day_state *d, const struct span_windows *windows);

/* The times of the first and the last window. Returns 0, or -ENOENT without windows. Any thread. */
int day_spans_all(struct day_state *d, int64_t *out_first, int64_t *out_last);
