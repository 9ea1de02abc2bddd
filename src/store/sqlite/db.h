/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A SQLite connection to the file of one day. A connection belongs to one thread at a time. Values
 * that are read back are not trusted: a file may be damaged, so callers check lengths and numbers,
 * and blobs end in a checksum of their content (db_blob()), as pages do (page_sums.h).
 * trusted_schema is off, so a file from elsewhere cannot run functions of SQLite through its views
 * and triggers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

enum db_mode {
	DB_READ,
	DB_WRITE, /* creates the file if it is missing */
	/*
	 * The file is a copy that nobody writes: no file is created, not even an index of the log,
	 * and none is locked. The caller must notice when the files change.
	 */
	DB_REPLICA,
};

/*
 * The format of new files. Files of older formats are read and extended too: in format 1 blobs have
 * no checksums and the file has no identity, in format 2 pages have no checksums. Format 3 has no
 * table of arrivals and format 4 no packs, and ids of profiles in a table of their own; a
 * connection that writes adds these tables. Format 5 has pages of 8 KiB, and keys of profiles in
 * no order of time; both stay.
 */
enum {
	DB_FORMAT = 6,
	DB_FORMAT_CHECKED = 2,
	DB_FORMAT_PAGE_SUMS = 3,
	DB_FORMAT_ARRIVALS = 4,
	DB_FORMAT_PACKS = 5,
};

enum { DB_IDENTITY_LEN = 16 };

/* The random name of a file, by which it is recognized; zeros for files of format 1. */
struct db_identity {
	uint8_t bytes[DB_IDENTITY_LEN];
};

/*
 * Returns 0; -EBADMSG if the file is damaged, of another program or of a newer format; -ENOENT;
 * -ENOSPC; -errno. DB_READ never changes the file, works on a full disk and without permission to
 * write, and returns -ENODATA for an empty file. DB_WRITE also checks that the file is complete and
 * adds the tables that newer versions introduced.
 */
int db_open(struct sqlite3 **out, const char *path, enum db_mode mode, struct err *err);

/*
 * Opens a new, empty file that will be overwritten with a copy of the file of @of, in its format.
 * Returns 0 or -errno.
 */
int db_open_copy(struct sqlite3 **out, const char *path, struct sqlite3 *of, struct err *err);
void db_close(struct sqlite3 *db);

/*
 * Moves the log into the file and truncates it, unless a query reads it now. Returns 1 if it has no
 * content any more, 0 or -errno.
 */
int db_empty_log(struct sqlite3 *db, struct err *err);

/* Memory of the pages that the connection holds, in bytes. */
size_t db_cache_bytes(struct sqlite3 *db);

DEFINE_FREEP(struct sqlite3, db_close)

/*
 * Adds empty temporary tables in memory for those that a file of an older version lacks. Returns 0
 * or -errno.
 */
int db_add_missing(struct sqlite3 *db, struct err *err);

/* The file's format and identity. Return 0 or -errno. */
int db_format(struct sqlite3 *db, int *out, struct err *err);
int db_identity(struct sqlite3 *db, struct db_identity *out, struct err *err);

/*
 * Checks that a file without a log has all of its pages: SQLite notices a truncated file only when
 * it reads a missing page. Nobody else may have the file open. Returns 0, -EBADMSG or -errno.
 */
int db_check_whole(struct sqlite3 *db, const char *path, struct err *err);

/*
 * The number of windows in a file, with those in packs and in arrivals. Returns 0; -EBADMSG if rows
 * are missing, since windows are numbered; -errno.
 */
int db_count_windows(struct sqlite3 *db, uint64_t *out, struct err *err);

/*
 * The content of a blob in the current row of @stmt, without its checksum, which is compared if
 * the file is @checked. NULL is an empty blob. Valid until the next step. Returns 0 or -EBADMSG.
 * db_value() does the same for an argument of a function. db_seal() appends the checksum to a blob
 * that will be stored in such a file.
 */
int db_blob(struct sqlite3_stmt *stmt, int column, bool checked, const void **out_data,
	    size_t *out_len);
int db_value(struct sqlite3_value *value, bool checked, const void **out_data, size_t *out_len);
void db_seal(struct buf *blob, bool checked);

/*
 * Translates the SQLite result code @rc to -errno and records SQLite's message in @err. -ENOMEM has
 * no message. A failed write without a reason counts as a full disk, its most common cause.
 */
int db_error(struct sqlite3 *db, int rc, struct err *err);

/*
 * Runs statements without results. Returns 0 or -errno. db_prepare() returns a statement that must
 * be finalized before the connection is closed; *@out is NULL after a failure.
 */
int db_exec(struct sqlite3 *db, const char *sql, struct err *err);
int db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out, struct err *err);

/* Reads the first column of the first row. Without a row, *@out is unchanged. */
int db_number(struct sqlite3 *db, const char *sql, int64_t *out, struct err *err);

/*
 * Returns 1 if there is a row; 0 at the end, when the statement has been reset; -errno. After an
 * error the statement has been reset too. -EBUSY means that another connection held the file for
 * more than five seconds.
 */
int db_step(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err);
void db_finalize(struct sqlite3_stmt *stmt);
