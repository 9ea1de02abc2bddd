/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The windows of one series of a day in order of time, whether they are in the tables, in packs or
 * arrived last. For queries; any thread that has a reader.
 */
#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

struct err;

/* The statement of the reader (reader_pool.h) that finds the windows, and so their parts. */
enum day_windows_parts {
	DAY_WINDOWS_HEADS,   /* head */
	DAY_WINDOWS_ROWS,    /* head, rows */
	DAY_WINDOWS_TIMES,   /* head, times */
	DAY_WINDOWS_SAMPLES, /* head, rows, times, owners; only windows that have all */
};

struct day_window {
	int64_t time_ns;
	int64_t number;                        /* of its block; 0 if it arrived last */
	const struct arrivals_window *arrival; /* NULL for others */
	struct window_head head;
	bool has_id;
	int64_t id;
	const struct pack *pack; /* that it is in, or NULL */
	size_t at;               /* its place there */
	struct arrivals_blob block, times, owners;
};

/* The windows of a series, from start to end, both included; with the values of a type. */
struct day_windows {
	struct reader *rd;
	const struct arrivals *arrivals; /* of the same state of the file */
	uint32_t series, type, n_types;
	int64_t start_ns, end_ns;
};

/* A negative value ends the iteration and is returned. */
typedef int (*day_window_fn)(void *ctx, const struct day_window *w);

/* Calls @fn for each window. Returns 0; -EBADMSG for a damaged one; -errno. */
int day_windows_each(const struct day_windows *of, enum day_windows_parts parts, day_window_fn fn,
		     void *ctx, struct err *err);

/* Nodes and values; nodes ascend. */
struct day_rows {
	const uint32_t *nodes;
	const int64_t *values;
	size_t n;
};

/*
 * The rows of a window that was found with them, with the values of the requested type.
 * Valid during the call of the function and until @block is used again. Returns 0, -EBADMSG or
 * -ENOMEM.
 */
int day_window_rows(const struct day_window *w, struct block *block, uint32_t type,
		    struct day_rows *out);

/* The rows of a block, in the same way. */
int day_rows_of_block(const struct arrivals_blob *data, struct block *block, uint32_t type,
		      struct day_rows *out);

/* Returns 1 if there is a window, 0, or -errno. */
int day_windows_any(const struct day_windows *of, struct err *err);
