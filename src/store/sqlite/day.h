/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The profiles of one tenant and one UTC day: a SQLite file and the dictionary that its ids refer
 * to, which is held in memory. One thread at a time may append and commit; other threads may query
 * meanwhile and see what was committed.
 *
 * Order of calls for the appending thread: day_begin(), then for each group of profiles
 * day_savepoint_begin(), day_append()…, day_savepoint_end(), and finally day_commit() or
 * day_rollback(). A query sees committed windows only, even though new stacks and series enter the
 * dictionary in memory before the commit. Memory: the strings, frames, nodes and series of the day,
 * once, plus caches for interning.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/sqlite/day_pack.h"
#include "store/sqlite/rollup.h"
#include "store/store.h"

struct day;
struct db_identity;
struct day_state;
struct intern_keys;

/*
 * With @create creates the file if it is missing or empty. Returns 0; -ENOENT; -EBADMSG if the file
 * is damaged or not a store's; -ENOSPC; -errno. Reads the complete dictionary, so it takes time in
 * proportion to the day's distinct stacks. An existing file is not changed before the first
 * day_begin(). day_close() requires that no query is in progress.
 */
int day_open(struct day **out, const char *path, bool create, struct err *err);

/* Limits the dictionary of the day. Call it before the first day_begin(). */
void day_limit(struct day *d, size_t max_bytes);

/*
 * The memory that the day has now, in bytes: dictionary, caches for interning, and pages of its
 * connections. Any thread.
 */
size_t day_bytes(struct day *d);

/* Returns the identity of the file. */
const struct db_identity *day_identity(const struct day *d);
/* Returns the number of committed windows. Writer thread only. */
uint64_t day_n_windows(const struct day *d);
void day_close(struct day *d);

DEFINE_FREEP(struct day, day_close)

/*
 * Begins a transaction. Appended profiles become durable and visible when day_commit() returns 0.
 */
int day_begin(struct day *d, struct err *err);
/*
 * Appends a profile, whose keys the caller has computed, to the open transaction. A profile whose
 * id was appended before is skipped. Returns 0, -EINVAL for too many labels or sample types,
 * -ENOBUFS if the day's dictionary is full and the profile has something new, or -errno. After a
 * failure the caller ends the savepoint without @keep.
 */
int day_append(struct day *d, const struct store_profile *p, const struct intern_keys *keys,
	       struct err *err);

/*
 * A savepoint: what was appended since day_savepoint_begin() is rolled back unless @keep. Returns 0
 * or -errno; -EIO if SQLite has rolled back the whole transaction on its own, as it does when the
 * disk is full.
 */
int day_savepoint_begin(struct day *d, struct err *err);
int day_savepoint_end(struct day *d, bool keep, struct err *err);

/*
 * Writes the transaction to the log without committing it, so that its commit hardly needs disk
 * space any more and days that belong together can be committed one after the other. Nothing may be
 * appended afterwards. Returns 0 or -errno; after a failure the caller rolls back. day_commit()
 * does it if the caller has not.
 */
int day_prepare(struct day *d, struct err *err);

/*
 * Commits. On failure it rolls back, and the transaction is over in either case. 0 means that the
 * profiles survive a power failure, as far as the disk honours a flush.
 */
int day_commit(struct day *d, struct err *err);
void day_rollback(struct day *d);

/*
 * Moves what arrived into the tables (day_settle.h), in a transaction of its own. Returns 0, also
 * if there is nothing, or -errno; then everything is unchanged. The thread that appends.
 */
int day_settle(struct day *d, struct err *err);

/*
 * Empties the log once there was no commit between two calls: each day that is open would hold
 * megabytes of one otherwise. day_has_log() says if there is one, in any thread; day_empty_log()
 * runs in the thread that appends, and returns 0 or -errno.
 */
bool day_has_log(const struct day *d);
int day_empty_log(struct day *d, struct err *err);

/* The part that queries use (store/sqlite/day_query.h). Borrowed, and valid until day_close(). */
struct day_state *day_state(struct day *d);

/*
 * Rollups (store/sqlite/rollup.h) and packs (day_pack.h), if day_has_rollups(): move arrivals into
 * the tables, which are searched, in the writer thread; find slots that gained nothing since the
 * previous search, at most a few thousand; build a rollup or a pack, in any thread but one at a
 * time; store several in one transaction, in the writer thread; delete the blocks of packed
 * windows, there too. All return 0 or -errno. A rollup or a pack whose slot gained a window after
 * it was found is not stored, which is not an error. After an error the next search finds the slots
 * again that got nothing.
 */
bool day_has_rollups(struct day *d, int64_t before_ns);
int day_begin_rollups(struct day *d, struct err *err);
int day_find_rollups(struct day *d, int64_t before_ns, struct rollup_slots *out, struct err *err);
int day_build_rollup(struct day *d, struct rollup_sum *sum, struct rollup_builder *b,
		     struct err *err);
int day_put_rollups(struct day *d, const struct rollup_sum *sums, size_t n, struct err *err);
int day_build_pack(struct day *d, struct day_pack *pack, struct day_pack_builder *b,
		   struct err *err);
int day_put_packs(struct day *d, const struct day_pack *packs, size_t n, struct err *err);
/* Deletes some of the blocks. Returns 1 if there are more. */
int day_drop_packed(struct day *d, struct err *err);

/* The times of the first and the last window; -ENOENT if the day has none. */
int day_span(struct day *d, int64_t *out_first, int64_t *out_last);
