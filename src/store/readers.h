/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Connections that read a day's file, kept for the next question. Any thread. */
#include <pthread.h>

#include "base/vec.h"
#include "store/sums.h"

struct err;
struct sqlite3;
struct sqlite3_stmt;

/* Of a series from a time to another: */
struct reader {
	struct sqlite3 *db;
	struct sqlite3_stmt *windows; /* time, head */
	struct sqlite3_stmt *blocks;  /* time, head, block, its id */
	struct sqlite3_stmt *times;   /* time, head, times or NULL */
	struct sqlite3_stmt *moments; /* time, head, block, times, their owners: where they are */
	struct sqlite3_stmt *any;     /* is there one? */
	/* Of a series, a level (store/sums.h), from a start to another: head, data, start */
	struct sqlite3_stmt *sums[SUMS_N_LEVELS];
};

struct readers {
	pthread_mutex_t lock;
	struct {
		VEC(struct reader *);
	} idle;
	const char *path; /* the owner's */
};

void readers_init(struct readers *rs, const char *path);
void readers_fini(struct readers *rs);

/* One question sees one state of the file: that of now. */
int readers_take(struct readers *rs, struct reader **out, struct err *err);
void readers_give(struct readers *rs, struct reader *rd);
