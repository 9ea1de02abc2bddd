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

struct arrivals_blob;
struct columns_writer;
struct buf;
struct err;
struct reader;
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

/* Looks up rows. Any thread that has the reader, one at a time. */
struct day_traced_reader {
	const struct reader *rd;
	struct sqlite3_stmt *stmt;
};

/* Returns 0 or -errno; then day_traced_end() is called all the same. */
int day_traced_begin(struct day_traced_reader *out, const struct reader *rd, struct err *err);
void day_traced_end(struct day_traced_reader *t);

/*
 * Finds the samples of an id in the window of a block, a block, which is valid until the next call.
 * Returns 1, 0 if there are none, or -errno.
 */
int day_traced_find(const struct day_traced_reader *t, int64_t block,
		    const struct store_trace_id *id, struct arrivals_blob *out, struct err *err);
