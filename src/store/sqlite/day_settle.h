/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Moves what arrived (arrivals.h) into the tables of a day, in the caller's transaction. Pages of
 * the tables are then written once for many windows. One thread at a time, on a connection that
 * may write.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

/* The prepared statements; zero-initialize it. */
struct day_settle {
	struct sqlite3 *db;
	bool checked;   /* blobs of the tables have checksums */
	bool has_packs; /* and ids are in heads */
	int64_t packed; /* the greatest number of a window in packs, which is not used again */
	struct buf sealed;
	struct sqlite3_stmt *put_chunk, *put_window, *put_block, *put_profile, *put_times,
		*put_owners, *put_id, *put_traced, *list;
};

/* Returns 0 or -errno; then day_settle_fini() is called all the same. */
int day_settle_init(struct day_settle *s, struct sqlite3 *db, bool checked, struct err *err);
void day_settle_fini(struct day_settle *s);

/*
 * Adds the items of a row to the tables. With @chunks also the entries of the dictionary,
 * unchanged: a caller that has the dictionary writes them itself, as fewer and larger chunks.
 * Returns 0; -EBADMSG; -errno.
 */
int day_settle_items(struct day_settle *s, const void *items, size_t len, bool chunks,
		     struct err *err);

/* Moves all rows. Returns 0, also if the file has no table of arrivals, or -errno. */
int day_settle_all(struct day_settle *s, bool chunks, struct err *err);

/*
 * Settles the file of a day that nobody has open, in a transaction of its own. Returns 0 or
 * -errno.
 */
int day_settle_file(struct sqlite3 *db, struct err *err);
