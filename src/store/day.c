/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a commit adds to the symbols is one chunk a kind; each profile is a
 * window and a block for each of its series. Numbers are given out in memory
 * first: after a failed commit the symbols merely hold more than the file, and
 * the next commit writes that too.
 */
#include "store/day.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "store/ask.h"
#include "store/block.h"
#include "store/db.h"
#include "store/intern.h"
#include "store/readers.h"
#include "store/series.h"
#include "store/stacks.h"
#include "store/symbols.h"
#include "store/times.h"
#include "store/window.h"

enum { SUMS_AT_ONCE = 400 };

struct pending {
	uint32_t series;
	int64_t time_ns;
};

struct day {
	struct day_state state;
	struct intern intern; /* these two are the appending thread's alone */
	struct block_writer blocks;
	char *path;

	struct sqlite3 *db;
	struct sqlite3_stmt *put_chunk, *put_window, *put_block, *put_profile, *put_sum, *drop_sum,
		*put_times, *put_owners, *put_id;
	int64_t seen_block; /* the last when sums were looked for */
	uint32_t saved[SYMBOLS_KIND_MAX];
	struct {
		VEC(struct pending);
	} pending;
	size_t mark; /* of pending */
};

struct day_state *day_state(struct day *d)
{
	return &d->state;
}

void day_close(struct day *d)
{
	if (!d)
		return;
	readers_fini(&d->state.readers);
	db_finalize(d->put_chunk);
	db_finalize(d->put_window);
	db_finalize(d->put_block);
	db_finalize(d->put_times);
	db_finalize(d->put_owners);
	db_finalize(d->put_id);
	db_finalize(d->put_profile);
	db_finalize(d->put_sum);
	db_finalize(d->drop_sum);
	db_close(d->db);
	symbols_free(d->state.symbols);
	intern_fini(&d->intern);
	block_writer_fini(&d->blocks);
	vec_fini(&d->state.spans);
	vec_fini(&d->pending);
	pthread_rwlock_destroy(&d->state.lock);
	free(d->path);
	free(d);
}

/* Opening */

static int load_chunks(struct day *d, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(d->db, "SELECT kind, first, data FROM chunks ORDER BY kind, first",
			   &stmt, err);

	while (r == 0 && (r = db_step(d->db, stmt, err)) > 0) {
		int64_t kind = sqlite3_column_int64(stmt, 0);

		if (kind < 0 || kind >= SYMBOLS_KIND_MAX ||
		    sqlite3_column_int64(stmt, 1) != symbols_count(d->state.symbols, kind))
			r = -EBADMSG;
		else
			r = symbols_read(d->state.symbols, kind, sqlite3_column_blob(stmt, 2),
					 (size_t)sqlite3_column_bytes(stmt, 2));
		if (r == -EBADMSG)
			err_set(err, r, "its tables of names are damaged");
	}
	db_finalize(stmt);
	return r;
}

static int load_spans(struct day *d, struct err *err)
{
	uint32_t n = symbols_count(d->state.symbols, SYMBOLS_SERIES);
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(d->db,
			   "SELECT (SELECT min(time) FROM windows WHERE series=?1),"
			   " (SELECT max(time) FROM windows WHERE series=?1)",
			   &stmt, err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct span span = { INT64_MAX, INT64_MIN };

		if (!series_valid(d->state.symbols, i)) {
			r = err_set(err, -EBADMSG, "a series of it is damaged");
			break;
		}
		sqlite3_bind_int64(stmt, 1, i);
		r = db_step(d->db, stmt, err);
		if (r > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			span = (struct span){ sqlite3_column_int64(stmt, 0),
					      sqlite3_column_int64(stmt, 1) };
		sqlite3_reset(stmt);
		if (r > 0)
			r = vec_push(&d->state.spans, span);
	}
	db_finalize(stmt);
	return r;
}

static int prepare_writer(struct day *d, struct err *err)
{
	int r = db_prepare(d->db, "INSERT INTO chunks VALUES(?, ?, ?)", &d->put_chunk, err);

	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO blocks(data) VALUES(?)", &d->put_block, err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO ids VALUES(?, ?)", &d->put_id, err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO times VALUES(?, ?)", &d->put_times, err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO owners VALUES(?, ?)", &d->put_owners, err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT INTO windows VALUES(?, ?, ?, ?)", &d->put_window,
			       err);
	if (r == 0)
		r = db_prepare(d->db, "INSERT OR IGNORE INTO profiles VALUES(?)", &d->put_profile,
			       err);
	if (r == 0)
		r = db_prepare(d->db, "DELETE FROM sums WHERE series=? AND level=? AND start=?",
			       &d->drop_sum, err);
	/* only if there are still the same windows */
	if (r == 0)
		r = db_prepare(d->db,
			       "INSERT OR REPLACE INTO sums SELECT ?1, ?2, ?3, ?4, ?5 WHERE"
			       " (SELECT count(*)=?6 AND max(block)=?7 FROM windows"
			       " WHERE series=?1 AND time BETWEEN ?3 AND ?8)",
			       &d->put_sum, err);
	return r;
}

int day_open(struct day **out, const char *path, struct err *err)
{
	_cleanup_(day_closep) struct day *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	pthread_rwlock_init(&d->state.lock, NULL);
	d->path = strdup(path);
	readers_init(&d->state.readers, d->path);
	if (!d->path)
		return -ENOMEM;
	r = symbols_new(&d->state.symbols);
	for (int k = 0; r == 0 && k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->state.symbols, k);
	if (r == 0)
		r = db_open(&d->db, path, DB_WRITE, err);
	if (r == 0)
		r = load_chunks(d, err);
	if (r == 0)
		r = load_spans(d, err);
	if (r == 0)
		r = prepare_writer(d, err);
	if (r < 0)
		return r;
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->state.symbols, k);
	*out = steal_ptr(&d);
	return 0;
}

/* Appending */

int day_begin(struct day *d, struct err *err)
{
	d->pending.len = 0;
	return db_exec(d->db, "BEGIN IMMEDIATE", err);
}

void day_rollback(struct day *d)
{
	d->pending.len = 0;
	if (!sqlite3_get_autocommit(d->db))
		db_exec(d->db, "ROLLBACK", NULL);
}

int day_mark(struct day *d, struct err *err)
{
	d->mark = d->pending.len;
	return db_exec(d->db, "SAVEPOINT mark", err);
}

int day_unmark(struct day *d, bool keep, struct err *err)
{
	if (sqlite3_get_autocommit(d->db))
		return err_set(err, -EIO, "the transaction was rolled back");
	if (keep)
		return db_exec(d->db, "RELEASE mark", err);
	d->pending.len = d->mark;
	return db_exec(d->db, "ROLLBACK TO mark; RELEASE mark", err);
}

/* 1: it is new; 0: it was appended before. */
static int put_key(struct day *d, const struct store_profile *p, struct err *err)
{
	uint8_t key[WINDOW_KEY_LEN];
	int r;

	if (!p->id || !p->id[0])
		return 1;
	window_profile_key(p, key);
	sqlite3_bind_blob(d->put_profile, 1, key, WINDOW_KEY_LEN, SQLITE_STATIC);
	r = db_step(d->db, d->put_profile, err);
	sqlite3_clear_bindings(d->put_profile);
	return r < 0 ? r : sqlite3_changes(d->db) > 0;
}

static int drop_sums(struct day *d, uint32_t series, int64_t time_ns, struct err *err)
{
	int r = 0;

	for (int level = 0; r == 0 && level < SUMS_N_LEVELS; level++) {
		sqlite3_bind_int64(d->drop_sum, 1, series);
		sqlite3_bind_int(d->drop_sum, 2, level);
		sqlite3_bind_int64(d->drop_sum, 3, sums_start(time_ns, level));
		r = db_step(d->db, d->drop_sum, err);
	}
	return r;
}

/* So that the window of block @id is found by the profile's own id. */
static int put_id(struct day *d, const struct store_profile *p, int64_t id, struct err *err)
{
	if (!p->id || !p->id[0])
		return 0;
	sqlite3_bind_int64(d->put_id, 1, window_id_hash(p->id));
	sqlite3_bind_int64(d->put_id, 2, id);
	return db_step(d->db, d->put_id, err);
}

static int put_beside(struct day *d, struct sqlite3_stmt *stmt, int64_t id, const struct buf *data,
		      struct err *err)
{
	int r;

	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_blob64(stmt, 2, data->data, data->len, SQLITE_STATIC);
	r = db_step(d->db, stmt, err);
	sqlite3_clear_bindings(stmt);
	return r;
}

/* When the samples of the window of block @id were taken, if they tell. */
static int put_times(struct day *d, const struct store_profile *p, const struct window_entry *e,
		     size_t n, const struct window_rows *rows, int64_t id, struct err *err)
{
	_cleanup_(buf_fini) struct buf times = { 0 }, owners = { 0 };
	int r = times_write(p->profile, e, n, rows, p->time_ns, &times, &owners);

	if (r < 0 || !times.len)
		return r;
	r = put_beside(d, d->put_times, id, &times, err);
	return r < 0 ? r : put_beside(d, d->put_owners, id, &owners, err);
}

static int put_window(struct day *d, const struct store_profile *p, uint32_t series,
		      const struct window_rows *rows, int64_t *out_id, struct err *err)
{
	_cleanup_(buf_fini) struct buf block = { 0 }, head = { 0 };
	int r = block_write(&d->blocks, rows->nodes, rows->values, rows->n, rows->n_types, &block);

	window_put_head(rows, profile_meta_const(p->profile), &head);
	if (r < 0 || buf_error(&head))
		return -ENOMEM;
	sqlite3_bind_blob64(d->put_block, 1, block.data, block.len, SQLITE_STATIC);
	r = db_step(d->db, d->put_block, err);
	if (r < 0)
		return r;
	*out_id = sqlite3_last_insert_rowid(d->db);
	sqlite3_bind_int64(d->put_window, 1, series);
	sqlite3_bind_int64(d->put_window, 2, p->time_ns);
	sqlite3_bind_int64(d->put_window, 3, *out_id);
	sqlite3_bind_blob64(d->put_window, 4, head.data, head.len, SQLITE_STATIC);
	r = db_step(d->db, d->put_window, err);
	if (r == 0)
		r = drop_sums(d, series, p->time_ns, err);
	if (r < 0)
		return r;
	return vec_push(&d->pending, (struct pending){ series, p->time_ns });
}

static int put_windows(struct day *d, const struct store_profile *p, const struct window_entry *e,
		       size_t n, struct err *err)
{
	_cleanup_(freep) uint32_t *nodes = malloc(n * sizeof(*nodes));
	size_t n_types = profile_n_sample_types(p->profile), end;
	_cleanup_(freep) int64_t *values = malloc(n * n_types * sizeof(*values));
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = n_types };
	int r = nodes && values ? 0 : -ENOMEM;
	int64_t id;

	for (size_t i = 0; r == 0 && i < n; i = end) {
		for (end = i; end < n && e[end].series == e[i].series;)
			end++;
		window_fill(&rows, p->profile, e + i, end - i);
		if (!rows.n)
			continue;
		r = put_window(d, p, e[i].series, &rows, &id, err);
		if (r == 0)
			r = put_id(d, p, id, err);
		if (r == 0)
			r = put_times(d, p, e + i, end - i, &rows, id, err);
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
	pthread_rwlock_wrlock(&d->state.lock);
	r = window_entries(entries, &d->intern, d->state.symbols, p, keys);
	pthread_rwlock_unlock(&d->state.lock);
	if (r == -EINVAL)
		return err_set(err, r, "too many labels or sample types");
	if (r < 0)
		return r;
	window_sort(entries, n);
	return put_windows(d, p, entries, n, err);
}

static int save_chunks(struct day *d, struct err *err)
{
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++) {
		_cleanup_(buf_fini) struct buf data = { 0 };
		int r;

		if (symbols_count(d->state.symbols, k) == d->saved[k])
			continue;
		r = symbols_write(d->state.symbols, k, d->saved[k], &data);
		if (r < 0)
			return r;
		sqlite3_bind_int(d->put_chunk, 1, k);
		sqlite3_bind_int64(d->put_chunk, 2, d->saved[k]);
		sqlite3_bind_blob64(d->put_chunk, 3, data.data, data.len, SQLITE_STATIC);
		r = db_step(d->db, d->put_chunk, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_spans(struct day *d)
{
	uint32_t n = symbols_count(d->state.symbols, SYMBOLS_SERIES);
	int r = 0;

	pthread_rwlock_wrlock(&d->state.lock);
	while (r == 0 && d->state.spans.len < n)
		r = vec_push(&d->state.spans, (struct span){ INT64_MAX, INT64_MIN });
	pthread_rwlock_unlock(&d->state.lock);
	return r;
}

static void widen_spans(struct day *d)
{
	pthread_rwlock_wrlock(&d->state.lock);
	for (size_t i = 0; i < d->pending.len; i++) {
		const struct pending *p = &d->pending.data[i];
		struct span *s = &d->state.spans.data[p->series];

		s->first = p->time_ns < s->first ? p->time_ns : s->first;
		s->last = p->time_ns > s->last ? p->time_ns : s->last;
	}
	pthread_rwlock_unlock(&d->state.lock);
	d->pending.len = 0;
}

int day_commit(struct day *d, struct err *err)
{
	int r = make_spans(d);

	if (r == 0)
		r = save_chunks(d, err);
	if (r == 0)
		r = db_exec(d->db, "COMMIT", err);
	if (r < 0) {
		day_rollback(d);
		return r;
	}
	for (int k = 0; k < SYMBOLS_KIND_MAX; k++)
		d->saved[k] = symbols_count(d->state.symbols, k);
	widen_spans(d);
	return 0;
}

int day_span(struct day *d, int64_t *out_first, int64_t *out_last)
{
	struct span all = { INT64_MAX, INT64_MIN };

	pthread_rwlock_rdlock(&d->state.lock);
	for (size_t i = 0; i < d->state.spans.len; i++) {
		all.first = d->state.spans.data[i].first < all.first ? d->state.spans.data[i].first
								     : all.first;
		all.last = d->state.spans.data[i].last > all.last ? d->state.spans.data[i].last
								  : all.last;
	}
	pthread_rwlock_unlock(&d->state.lock);
	if (all.first > all.last)
		return -ENOENT;
	*out_first = all.first;
	*out_last = all.last;
	return 0;
}

/* Sums */

int day_find_sums(struct day *d, int64_t before_ns, struct sums_slots *out, struct err *err)
{
	struct reader *rd = NULL;
	int64_t last = 0;
	int r = readers_take(&d->state.readers, &rd, err);

	if (r == 0)
		r = db_number(rd->db, "SELECT max(id) FROM blocks", &last, err);
	/* what was added since the last time is likely to get more */
	if (r == 0)
		r = sums_find(rd->db, before_ns, d->seen_block, SUMS_AT_ONCE, out, err);
	d->seen_block = last;
	if (rd)
		readers_give(&d->state.readers, rd);
	return r;
}

int day_build_sum(struct day *d, const struct sums_slot *slot, struct sums_builder *b,
		  struct err *err)
{
	struct reader *rd = NULL;
	uint32_t n_types, n_nodes;
	int r = readers_take(&d->state.readers, &rd, err);

	pthread_rwlock_rdlock(&d->state.lock);
	n_types = series_n_types(d->state.symbols, slot->series);
	n_nodes = symbols_count(d->state.symbols, SYMBOLS_NODES);
	pthread_rwlock_unlock(&d->state.lock);
	if (r == 0)
		r = sums_build(b, rd, slot, n_types, n_nodes, err);
	if (rd)
		readers_give(&d->state.readers, rd);
	return r;
}

int day_put_sum(struct day *d, const struct sums_slot *slot, const struct sums_builder *b,
		struct err *err)
{
	int64_t last = slot->start + sums_step_ns(slot->level) - 1;
	int r;

	sqlite3_bind_int64(d->put_sum, 1, slot->series);
	sqlite3_bind_int(d->put_sum, 2, slot->level);
	sqlite3_bind_int64(d->put_sum, 3, slot->start);
	sqlite3_bind_blob64(d->put_sum, 4, b->head.data, b->head.len, SQLITE_STATIC);
	sqlite3_bind_blob64(d->put_sum, 5, b->data.data, b->data.len, SQLITE_STATIC);
	sqlite3_bind_int64(d->put_sum, 6, slot->n_windows);
	sqlite3_bind_int64(d->put_sum, 7, slot->last_block);
	sqlite3_bind_int64(d->put_sum, 8, last);
	r = db_step(d->db, d->put_sum, err);
	sqlite3_clear_bindings(d->put_sum);
	return r;
}
