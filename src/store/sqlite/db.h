/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A SQLite connection to the file of one day. A connection belongs to one thread at a time. Values
 * that are read back are not trusted: a file may be damaged, so callers check lengths and numbers.
 * trusted_schema is off, so a file from elsewhere cannot run functions of SQLite through its views
 * and triggers.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

enum db_mode {
	DB_READ,
	DB_WRITE, /* creates the file if it is missing */
};

/*
 * Returns 0; -EBADMSG if the file is damaged or not of this version of Cameo; -ENOENT; -ENOSPC;
 * -errno. DB_WRITE also checks that the file is complete and adds the tables that newer versions
 * introduced. A connection for reading may still move the log into the file, so it needs write
 * permission.
 */
int db_open(struct sqlite3 **out, const char *path, enum db_mode mode, struct err *err);
void db_close(struct sqlite3 *db);

DEFINE_FREEP(struct sqlite3, db_close)

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
