/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of a day, for day.c and day_rollups.c. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flame/stack_dict.h"
#include "store/intern.h"
#include "store/sqlite/day_gain.h"
#include "store/sqlite/day_pack.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/day_settle.h"
#include "store/sqlite/db.h"
#include "store/sqlite/rollup_due.h"

/* The log of a day: commits extend it; once a whole pass found none, it is emptied. */
enum day_log { DAY_LOG_EMPTY, DAY_LOG_GROWN, DAY_LOG_QUIET };

struct day {
	struct day_state state;
	struct intern intern; /* belongs to the writer thread */
	char *path;
	struct db_identity identity;
	atomic_uint_fast64_t n_windows; /* committed */
	bool checked;                   /* blobs have checksums */
	bool has_arrivals, has_packs;   /* the file has the tables */
	bool has_old_keys;              /* profiles may have keys of window_profile_key() */

	struct sqlite3 *db; /* the writer thread's; NULL before the first day_begin() */
	struct sqlite3_stmt *put_arrivals, *find_profile, *put_rollup, *drop_rollup;
	struct day_settle settle;
	struct day_pack_writer packs;
	struct rollup_due due;     /* slots without a rollup or a pack */
	struct day_pack_dead dead; /* of packed windows; for the thread that builds packs */
	/* entries of the dictionary in the file, and of these in its chunks */
	uint32_t saved[STACK_DICT_KIND_MAX], settled[STACK_DICT_KIND_MAX];
	size_t n_arrived; /* bytes in arrivals */
	struct day_gain gain;
	/* at the start of the transaction, and of the savepoint */
	struct day_gain_lengths begun, mark;
	bool is_settling; /* the open transaction empties arrivals */
	size_t limit;
	/* of dictionary and interning; of the writer's pages; of dead */
	atomic_size_t bytes, page_bytes, dead_bytes;
	bool prepared;
	atomic_int log; /* enum day_log */
};

/* Opens the connection that writes, if it is not open. Returns 0 or -errno. */
int day_open_writer(struct day *d, struct err *err);

/*
 * Begins a transaction without arrivals, so that the tables have all windows of a slot. Returns 0
 * or -errno; then day_rollback() is called all the same.
 */
int day_begin_settled(struct day *d, struct err *err);
