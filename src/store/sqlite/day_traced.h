/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The index of a day's samples by span and trace: the table traced. A row holds the nodes and
 * values of one window's samples of one id, as a block of its own. Keys begin with the window's
 * block: ids are random, and so the rows of a window are still written side by side. A query looks
 * up its id in each window of the selected series and range, and reads only what it returns. Rows
 * have no memory but SQLite's cache.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "store/window.h"

struct columns_writer;
struct buf;
struct err;
struct sqlite3;
struct sqlite3_stmt;

/*
 * Appends the samples of a window, which are @e, by span and trace to @out, for a window that
 * arrives (arrivals.h). @rows is scratch memory with room for @n rows; its content is overwritten.
 * Returns 0 or -errno.
 */
int day_traced_put(struct columns_writer *blocks, const struct store_profile *p,
		   const struct window_entry *e, size_t n, struct window_rows *rows,
		   struct buf *out);

/* Is the id among the first @n of @ids? */
bool day_traced_is_listed(const struct store_trace_id *ids, size_t n,
			  const struct store_trace_id *id);

/*
 * Receives a statement to bind to a series, a start and an end time, to step and to reset, as often
 * as necessary. Its rows are time, head, block of the id's samples, block id. Returns 0 or -errno.
 */
typedef int (*day_traced_fn)(void *ctx, struct sqlite3_stmt *rows);

/* Calls @fn for each of @ids; one that is listed twice counts once. Returns 0 or -errno. */
int day_traced_find(struct sqlite3 *db, const struct store_trace_id *ids, size_t n,
		    day_traced_fn fn, void *ctx, struct err *err);
