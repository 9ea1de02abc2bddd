/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Read connections to a day's file with their prepared statements, reused from query to query. Any
 * thread.
 */
#include <pthread.h>
#include <stdbool.h>

#include "base/vec.h"
#include "store/pack.h"
#include "store/sqlite/db.h"
#include "store/sqlite/rollup_level.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

/* All statements but sums take a series, a start and an end time. */
struct reader {
	struct sqlite3 *db;
	bool checked;                 /* blobs have checksums (db_blob()) */
	size_t bytes;                 /* memory of its pages when it was released */
	struct sqlite3_stmt *windows; /* time, head, block id */
	struct sqlite3_stmt *blocks;  /* time, head, block, block id */
	struct sqlite3_stmt *times;   /* time, head, sample times or NULL */
	struct sqlite3_stmt
		*samples; /* time, head, block, sample times, owners; only windows that have all */
	struct sqlite3_stmt *any; /* one row if there is any window */
	/* takes series, first and last start; gives heads, id, first and last time. NULL while the
	 * file has no packs */
	struct sqlite3_stmt *packs;
	struct sqlite3_stmt *packed;   /* takes id; gives rows */
	struct sqlite3_stmt *times_of; /* takes block id; gives sample times, owners or NULL */
	struct pack pack;              /* that is being read */
	struct pack_reader pack_reader;
	/* takes series, level, first and last start; gives head, data, start */
	struct sqlite3_stmt *sums[ROLLUP_N_LEVELS];
	struct sqlite3_stmt *arrivals; /* ARRIVALS_LIST; NULL while the file has no such table */
};

/*
 * The pool grows to the number of queries that run at once. It keeps a few connections until the
 * day is closed.
 */
struct reader_pool {
	pthread_mutex_t lock;
	struct {
		VEC(struct reader *);
	} idle;
	size_t bytes;     /* of the idle readers */
	const char *path; /* borrowed */
	enum db_mode mode;
};

/* @path must outlive the pool. @mode is DB_READ or DB_REPLICA. */
void reader_pool_init(struct reader_pool *rs, const char *path, enum db_mode mode);
void reader_pool_fini(struct reader_pool *rs);

/*
 * A reader sees one state of the file, that at the time of the call, until it is released. *@out
 * must be NULL before the call. Returns 0 or -errno. It may be set even after a failure and must
 * then be released all the same. A reader that is held for long keeps SQLite from reusing the log,
 * so it is released at the end of a query.
 */
int reader_pool_acquire(struct reader_pool *rs, struct reader **out, struct err *err);
void reader_pool_release(struct reader_pool *rs, struct reader *rd);

/* Memory of the idle readers in bytes. */
size_t reader_pool_bytes(struct reader_pool *rs);

/* How many days may be open, so that their readers need at most half of the file descriptors. */
size_t reader_pool_max_days(void);
