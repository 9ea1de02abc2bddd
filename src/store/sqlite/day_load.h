/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads what queries and the appending thread hold of a day in memory from its file: dictionary,
 * spans, identity. For days that are written (day.h) and for days of a replica (replica_days.h).
 */
#include <stdbool.h>
#include <stdint.h>

#include "flame/stack_dict.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/db.h"

/*
 * @path is borrowed, @mode is that of the readers. Returns 0 or -ENOMEM; day_state_fini() is
 * required in either case.
 */
int day_state_init(struct day_state *d, const char *path, enum db_mode mode);
void day_state_fini(struct day_state *d);

/* Zero-initialize it. */
struct day_loaded {
	bool checked;   /* blobs have checksums */
	bool has_packs; /* the file has the tables */
	struct db_identity identity;
	uint64_t n_windows;
	uint32_t settled[STACK_DICT_KIND_MAX]; /* entries of the dictionary without arrivals */
	struct arrivals arrivals;
};

void day_loaded_fini(struct day_loaded *l);

/*
 * Fills the empty @d from a file that nobody else extends during the call. Returns 0; -EBADMSG with
 * the reason if the file is damaged; -errno.
 */
int day_load(struct day_state *d, struct sqlite3 *db, struct day_loaded *out, struct err *err);
