/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The windows of one series of a day in order of time, whether they are in the tables already or
 * arrived last. For queries; any thread that has a reader.
 */
#include <stdint.h>

#include "store/sqlite/arrivals.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

struct err;

/* The statement of the reader (reader_pool.h) that finds the windows, and so their blobs. */
enum day_windows_parts {
	DAY_WINDOWS_HEADS,   /* head */
	DAY_WINDOWS_BLOCKS,  /* head, block */
	DAY_WINDOWS_TIMES,   /* head, times */
	DAY_WINDOWS_SAMPLES, /* head, block, times, owners; only windows that have all */
};

struct day_window {
	int64_t time_ns;
	int64_t number;                        /* of the block, with DAY_WINDOWS_BLOCKS; or 0 */
	const struct arrivals_window *arrival; /* NULL for a window in the tables */
	struct window_head head;
	struct arrivals_blob block, times, owners;
};

/* The windows of a series, from start to end, both included; with the total of a type. */
struct day_windows {
	struct reader *rd;
	const struct arrivals *arrivals; /* of the same state of the file */
	uint32_t series, type;
	int64_t start_ns, end_ns;
};

/* A negative value ends the iteration and is returned. */
typedef int (*day_window_fn)(void *ctx, const struct day_window *w);

/* Calls @fn for each window. Returns 0; -EBADMSG for a damaged one; -errno. */
int day_windows_each(const struct day_windows *of, enum day_windows_parts parts, day_window_fn fn,
		     void *ctx, struct err *err);

/* Does it for the rows of a statement that has the columns of the reader's blocks. */
int day_windows_each_row(const struct day_windows *of, struct sqlite3_stmt *rows, day_window_fn fn,
			 void *ctx, struct err *err);

/* Returns 1 if there is a window, 0, or -errno. */
int day_windows_any(const struct day_windows *of, struct err *err);
