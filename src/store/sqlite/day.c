/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit appends one row with what the day gained: windows, keys of profiles, and entries of the
 * dictionary (arrivals.h). When these rows are many, or their commit is large, it moves all into
 * the tables (day_settle.h), where a profile has a window and a block in each of its series. Ids
 * are assigned in memory first: after a failed commit the dictionary holds more than the file,
 * which is harmless, and the next commit writes the difference too.
 *
 * Threads. Nothing is locked. The appending thread extends the dictionary and the spans while
 * queries read them (stack_dict.h, day_query.h). A query that starts between interning and the
 * commit may see a series without a span, which has no committed window by definition. Everything
 * else belongs to the appending thread, except for counters. Windows refer to
 * dictionary entries by number (day_dict.h), so these are written in the transaction of the
 * windows that use them.
 */
#include "store/sqlite/day.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/intern.h"
#include "store/series.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_dict.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_gain.h"
#include "store/sqlite/day_load.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/day_spans.h"
#include "store/sqlite/day_struct.h"
#include "store/sqlite/db.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

enum { MAX_ARRIVALS = 1 << 20 }; /* bytes that a query reads in addition */

struct day_state *day_state(struct day *d)
{
	return &d->state;
}

const struct db_identity *day_identity(const struct day *d)
{
	return &d->identity;
}

uint64_t day_n_windows(const struct day *d)
{
	return d->n_windows;
}

static void close_writer(struct day *d)
{
	struct sqlite3_stmt **all[] = { &d->put_arrivals, &d->find_profile, &d->put_rollup,
					&d->drop_rollup };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		db_finalize(*all[i]);
		*all[i] = NULL;
	}
	day_settle_fini(&d->settle);
	day_pack_writer_fini(&d->packs);
	db_close(d->db);
	d->db = NULL;
}

void day_close(struct day *d)
{
	if (!d)
		return;
	day_state_fini(&d->state); /* the last connection moves the log into the file */
	close_writer(d);
	rollup_due_fini(&d->due);
	vec_fini(&d->dead);
	intern_fini(&d->intern);
	day_gain_fini(&d->gain);
	free(d->path);
	free(d);
}

void day_limit(struct day *d, size_t max_bytes)
{
	d->limit = max_bytes;
	stack_dict_limit(d->state.dict, max_bytes);
}

size_t day_bytes(struct day *d)
{
	return d->bytes + d->page_bytes + reader_pool_bytes(&d->state.readers) +
	       rollup_due_bytes(&d->due) + d->dead_bytes;
}

static void count_bytes(struct day *d)
{
	d->bytes = stack_dict_bytes(d->state.dict) + id_cache_bytes(&d->intern.frames) +
		   id_cache_bytes(&d->intern.stacks);
}

/* Prepares all statements once, since each append runs several of them. */
static int prepare_writer(struct day *d, struct err *err)
{
	int format = 0, r = db_format(d->db, &format, err);

	d->has_arrivals = format >= DB_FORMAT_ARRIVALS;
	d->has_packs = format >= DB_FORMAT_PACKS;
	if (r == 0 && d->has_arrivals)
		r = db_prepare(d->db, "INSERT INTO arrivals(windows, data) VALUES(?, ?)",
			       &d->put_arrivals, err);
	if (r == 0)
		r = db_prepare(d->db, "SELECT 1 FROM profiles WHERE key=?", &d->find_profile, err);
	if (r == 0)
		r = db_prepare(d->db, "DELETE FROM sums WHERE series=? AND level=? AND start=?",
			       &d->drop_rollup, err);
	if (r == 0)
		r = db_prepare(d->db, ROLLUP_PUT, &d->put_rollup, err);
	if (r == 0 && d->has_packs)
		r = day_pack_writer_init(&d->packs, d->db, err);
	return r < 0 ? r : day_settle_init(&d->settle, d->db, d->checked, err);
}

/*
 * Older versions stored keys that begin with any four bytes, later ones begin with a second of the
 * day unless the profile has no time or another one. Keys in arrivals may be of both.
 */
static int find_old_keys(struct day *d, struct sqlite3 *db, struct err *err)
{
	int64_t number = day_files_day(strrchr(d->path, '/') ? strrchr(d->path, '/') + 1 : d->path);
	char first[WINDOW_TIME_HEX_LEN], end[WINDOW_TIME_HEX_LEN], sql[256];
	int64_t found = 0;
	int r;

	window_time_hex(number * STORE_DAY_NS, first);
	window_time_hex((number + 1) * STORE_DAY_NS, end);
	snprintf(sql, sizeof(sql),
		 "SELECT EXISTS(SELECT 1 FROM profiles WHERE key>=x'00000001' AND key<x'%s')"
		 " OR EXISTS(SELECT 1 FROM profiles WHERE key>=x'%s')",
		 first, end);
	r = db_number(db, sql, &found, err);
	d->has_old_keys = found;
	return r;
}

static int load(struct day *d, struct sqlite3 *db, struct err *err)
{
	_cleanup_(day_loaded_fini) struct day_loaded l = { 0 };
	int r = day_load(&d->state, db, &l, err);

	d->checked = l.checked;
	d->has_packs = l.has_packs;
	d->identity = l.identity;
	d->n_windows = l.n_windows;
	d->n_arrived = l.arrivals.rows.len;
	memcpy(d->settled, l.settled, sizeof(d->settled));
	if (r == 0)
		r = find_old_keys(d, db, err);
	return r < 0 ? r : day_gain_load_keys(&d->gain, &l.arrivals);
}

/* Opens the connection that writes. */
int day_open_writer(struct day *d, struct err *err)
{
	int r = d->db ? 0 : db_open(&d->db, d->path, DB_WRITE, err);

	if (r == 0 && !d->drop_rollup) {
		r = prepare_writer(d, err);
		if (r < 0)
			close_writer(d);
	}
	return r;
}

/* Files of older versions lack tables that readers need. */
static int add_tables(struct day *d, struct sqlite3 *db, struct err *err)
{
	int64_t n = 0;
	int r = db_number(db,
			  "SELECT count(*) FROM sqlite_schema"
			  " WHERE name IN ('sums', 'owners', 'traced')",
			  &n, err);

	return r < 0 || n == 3 ? r : day_open_writer(d, err);
}

/*
 * Creates the file under another name first: a connection that only reads cannot open one whose
 * creation was interrupted, as SQLite would have to undo it. A log of a lost file goes away,
 * because SQLite would apply it to the new one.
 */
static int create_file(const char *path, struct err *err)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
	char new[DAY_FILES_PATH_LEN + 16], old[DAY_FILES_PATH_LEN + 32];
	struct sqlite3 *db = NULL;
	int r;

	day_rewrite_clean(path);
	snprintf(new, sizeof(new), "%s.new", path);
	r = db_open(&db, new, DB_WRITE, err);
	db_close(db);
	snprintf(old, sizeof(old), "%s-wal", new);
	if (r == 0 && access(old, F_OK) == 0)
		r = err_set(err, -EIO, "cannot move the log of the new file into it");
	for (size_t i = 0; r == 0 && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(old, sizeof(old), "%s%s", path, suffixes[i]);
		if (unlink(old) < 0 && errno != ENOENT)
			r = err_set(err, -errno, "cannot remove its old log: %s", strerror(errno));
	}
	if (r == 0)
		r = durable_rename(new, path, err);
	if (r < 0)
		day_rewrite_clean(path);
	return r;
}

/* An existing file is read by a connection that cannot change it: it may be damaged. */
static int open_file(struct day *d, bool create, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	struct err why = { 0 };
	int r = db_open(&db, d->path, DB_READ, &why);

	if ((r == -ENOENT || r == -ENODATA) && !create)
		return -ENOENT;
	if (r == -ENOENT || r == -ENODATA) {
		r = create_file(d->path, err);
		if (r == 0)
			r = db_open(&db, d->path, DB_READ, err);
	} else if (r < 0) {
		return err_set(err, r, "%s", why.msg);
	} else {
		r = db_check_whole(db, d->path, err);
	}
	if (r == 0)
		r = load(d, db, err);
	return r < 0 ? r : add_tables(d, db, err);
}

int day_open(struct day **out, const char *path, bool create, struct err *err)
{
	_cleanup_(day_closep) struct day *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	rollup_due_init(&d->due);
	d->path = strdup(path);
	r = day_state_init(&d->state, d->path, DB_READ);
	if (r == 0 && !d->path)
		r = -ENOMEM;
	if (r == 0)
		r = open_file(d, create, err);
	if (r < 0)
		return r;
	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		d->saved[k] = stack_dict_count(d->state.dict, k);
	count_bytes(d);
	*out = steal_ptr(&d);
	return 0;
}

int day_begin(struct day *d, struct err *err)
{
	int r = day_open_writer(d, err);

	d->prepared = false;
	d->is_settling = false;
	d->begun = day_gain_now(&d->gain);
	return r < 0 ? r : db_exec(d->db, "BEGIN IMMEDIATE", err);
}

void day_rollback(struct day *d)
{
	day_gain_cut(&d->gain, &d->begun);
	if (d->db && !sqlite3_get_autocommit(d->db))
		db_exec(d->db, "ROLLBACK", NULL);
}

int day_savepoint_begin(struct day *d, struct err *err)
{
	d->mark = day_gain_now(&d->gain);
	return db_exec(d->db, "SAVEPOINT mark", err);
}

/* autocommit is on again only if SQLite itself ended the transaction. */
int day_savepoint_end(struct day *d, bool keep, struct err *err)
{
	if (sqlite3_get_autocommit(d->db))
		return err_set(err, -EIO, "SQLite rolled the transaction back");
	if (keep)
		return db_exec(d->db, "RELEASE mark", err);
	day_gain_cut(&d->gain, &d->mark);
	return db_exec(d->db, "ROLLBACK TO mark; RELEASE mark", err);
}

/* Keys of the open transaction count, so two pushes of one profile in one batch are noticed. */
static int has_key(struct day *d, const struct day_gain_key *key, struct err *err)
{
	int r;

	if (day_gain_has_key(&d->gain, key))
		return 1;
	sqlite3_bind_blob(d->find_profile, 1, key->bytes, WINDOW_KEY_LEN, SQLITE_STATIC);
	r = db_step(d->db, d->find_profile, err);
	sqlite3_reset(d->find_profile);
	sqlite3_clear_bindings(d->find_profile);
	return r;
}

/* Returns 1 if the profile is new, 0 if a profile with its id was appended before. */
static int put_key(struct day *d, const struct store_profile *p, struct err *err)
{
	struct day_gain_key old, key;
	int r;

	if (!p->id || !p->id[0])
		return 1;
	window_profile_key(p, old.bytes);
	window_profile_time_key(p, old.bytes, key.bytes);
	r = has_key(d, &key, err);
	if (r == 0 && d->has_old_keys)
		r = has_key(d, &old, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = day_gain_put_key(&d->gain, &key);
	return r < 0 ? r : 1;
}

/*
 * A late window falls into a slot that may have a sum on each level. The sum is deleted instead of
 * corrected: the next search builds it again when the slot is quiet.
 */
static int drop_rollups(struct day *d, uint32_t series, int64_t time_ns, struct err *err)
{
	int r = 0;

	for (int level = 0; r == 0 && level < ROLLUP_N_LEVELS; level++) {
		sqlite3_bind_int64(d->drop_rollup, 1, series);
		sqlite3_bind_int(d->drop_rollup, 2, level);
		sqlite3_bind_int64(d->drop_rollup, 3, rollup_start(time_ns, level));
		r = db_step(d->db, d->drop_rollup, err);
	}
	return r;
}

/* Writes one window per series; @e is sorted by series. */
static int put_windows(struct day *d, const struct store_profile *p, const struct window_entry *e,
		       size_t n, struct err *err)
{
	_cleanup_(freep) uint32_t *nodes = malloc(n * sizeof(*nodes));
	size_t n_types = profile_n_sample_types(p->profile), end;
	_cleanup_(freep) int64_t *values = malloc(n * n_types * sizeof(*values));
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = n_types };
	int r = nodes && values ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i = end) {
		for (end = i; end < n && e[end].series == e[i].series;)
			end++;
		window_fill(&rows, p->profile, e + i, end - i);
		if (!rows.n)
			continue;
		r = day_gain_put_window(&d->gain, p, e + i, end - i, &rows);
		if (r == 0)
			r = drop_rollups(d, e[i].series, p->time_ns, err);
	}
	return r;
}

int day_append(struct day *d, const struct store_profile *p, const struct intern_keys *keys,
	       struct err *err)
{
	uint32_t n = profile_n_samples(p->profile);
	_cleanup_(freep) struct window_entry *entries = NULL;
	int r;

	if (!n || !profile_n_sample_types(p->profile))
		return 0;
	r = put_key(d, p, err);
	if (r <= 0)
		return r;
	entries = malloc(n * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	r = window_entries(entries, &d->intern, d->state.dict, p, keys);
	count_bytes(d);
	if (r == -ENOBUFS)
		return err_set(err, r,
			       "the names, stacks and series of this day take more than "
			       "%zu MiB; only profiles without new ones are stored",
			       d->limit >> 20);
	if (r == -EINVAL)
		return err_set(err, r, "profile has more than %d labels or %d sample types",
			       SERIES_MAX_LABELS, BLOCK_MAX_TYPES);
	if (r < 0)
		return r;
	window_sort(entries, n);
	return put_windows(d, p, entries, n, err);
}

static bool has_new_entries(const struct day *d)
{
	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		if (d->saved[k] < stack_dict_count(d->state.dict, k))
			return true;
	return false;
}

static int put_row(struct day *d, struct err *err)
{
	int r = day_dict_put(d->state.dict, d->saved, &d->gain.row);

	db_seal(&d->gain.row, true);
	if (r < 0 || buf_error(&d->gain.row))
		return -ENOMEM;
	sqlite3_bind_int64(d->put_arrivals, 1, (int64_t)d->gain.windows.len);
	sqlite3_bind_blob64(d->put_arrivals, 2, d->gain.row.data, d->gain.row.len, SQLITE_STATIC);
	r = db_step(d->db, d->put_arrivals, err);
	sqlite3_clear_bindings(d->put_arrivals);
	return r;
}

/* Moves everything into the tables: what arrived before, and what the transaction has gained. */
static int settle(struct day *d, struct err *err)
{
	struct day_settle *s = &d->settle;
	int r = d->n_arrived ? day_settle_all(s, false, err) : 0;

	d->is_settling = true;
	if (r == 0)
		r = day_settle_items(s, d->gain.row.data, d->gain.row.len, false, err);
	return r < 0 ? r
		     : day_dict_save(d->state.dict, d->settled, d->db, s->put_chunk, d->checked,
				     err);
}

/* Writes what the transaction has gained. */
static int write_gain(struct day *d, struct err *err)
{
	int r = day_spans_make(&d->state);

	if (r < 0 || (!d->gain.row.len && !has_new_entries(d)))
		return r;
	return d->has_arrivals && d->n_arrived + d->gain.row.len < MAX_ARRIVALS ? put_row(d, err)
										: settle(d, err);
}

int day_prepare(struct day *d, struct err *err)
{
	int r = write_gain(d, err), rc;

	if (r < 0)
		return r;
	rc = sqlite3_db_cacheflush(d->db);
	if (rc != SQLITE_OK)
		return db_error(d->db, rc, err);
	d->prepared = true;
	return 0;
}

/* The transaction is durable, and becomes visible. */
static void finish_commit(struct day *d)
{
	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		d->saved[k] = stack_dict_count(d->state.dict, k);
	if (d->is_settling) {
		memcpy(d->settled, d->saved, sizeof(d->saved));
		d->gain.keys.len = 0;
	}
	d->n_arrived = d->is_settling ? 0 : d->n_arrived + d->gain.row.len;
	day_spans_widen(&d->state, &d->gain.windows);
	for (size_t i = 0; i < d->gain.windows.len; i++)
		rollup_due_add(&d->due, d->gain.windows.data[i].series,
			       d->gain.windows.data[i].time_ns);
	d->n_windows += d->gain.windows.len;
	d->log = DAY_LOG_GROWN;
	day_gain_clear(&d->gain);
	d->page_bytes = db_cache_bytes(d->db);
}

/* A single day is not flushed beforehand: the commit does that. */
int day_commit(struct day *d, struct err *err)
{
	int r = d->prepared ? 0 : write_gain(d, err);

	if (r == 0)
		r = db_exec(d->db, "COMMIT", err);
	if (r < 0)
		day_rollback(d);
	else
		finish_commit(d);
	return r;
}

int day_settle(struct day *d, struct err *err)
{
	int r;

	if (!d->n_arrived)
		return 0;
	r = day_begin(d, err);
	if (r == 0)
		r = settle(d, err);
	if (r < 0) {
		day_rollback(d);
		return r;
	}
	d->prepared = true;
	return day_commit(d, err);
}

bool day_has_log(const struct day *d)
{
	return d->log != DAY_LOG_EMPTY;
}

int day_empty_log(struct day *d, struct err *err)
{
	int r = d->db && d->log == DAY_LOG_QUIET ? db_empty_log(d->db, err) : 0;

	if (r > 0)
		d->log = DAY_LOG_EMPTY;
	else if (d->log == DAY_LOG_GROWN)
		d->log = DAY_LOG_QUIET;
	return r < 0 ? r : 0;
}

int day_span(struct day *d, int64_t *out_first, int64_t *out_last)
{
	return day_spans_all(&d->state, out_first, out_last);
}

int day_begin_settled(struct day *d, struct err *err)
{
	int r = day_begin(d, err);

	if (r == 0)
		r = settle(d, err);
	d->prepared = true;
	return r;
}
