/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A SQLite connection to the file of one day. */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

enum db_mode {
	DB_READ,
	DB_WRITE, /* makes the file if it is missing */
};

/* 0; -EBADMSG when the file is not one of ours or is damaged; -ENOENT; -ENOSPC; -errno. */
int db_open(struct sqlite3 **out, const char *path, enum db_mode mode, struct err *err);
void db_close(struct sqlite3 *db);

DEFINE_FREEP(struct sqlite3, db_close)

/* What SQLite says went wrong with its code @rc, as -errno. */
int db_error(struct sqlite3 *db, int rc, struct err *err);

int db_exec(struct sqlite3 *db, const char *sql, struct err *err);
int db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out, struct err *err);

/* The first number of the first row; it stays as it is when there is none. */
int db_number(struct sqlite3 *db, const char *sql, int64_t *out, struct err *err);

/* 1: a row; 0: no more, and the statement is reset; -errno. */
int db_step(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err);
void db_finalize(struct sqlite3_stmt *stmt);
