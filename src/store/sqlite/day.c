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
#include "store/sample_times.h"
#include "store/series.h"
#include "store/sqlite/day_dict.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/day_spans.h"
#include "store/sqlite/db.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

enum { ROLLUP_BATCH = 400 };

struct day {
	struct day_state state;
	struct intern intern; /* intern and blocks belong to the writer thread */
	struct block_writer blocks;
	char *path;
	struct db_identity identity;
	atomic_uint_fast64_t n_windows; /* committed */
	bool checked;                   /* blobs have checksums */

	struct sqlite3 *db; /* the writer thread's; NULL before the first day_begin() */
	struct sqlite3_stmt *put_chunk, *put_window, *put_block, *put_profile, *put_rollup,
		*drop_rollup, *put_times, *put_owners, *put_id;
	int64_t seen_block; /* id of the last block at the previous search for rollups */
	uint32_t saved[STACK_DICT_KIND_MAX];
	struct span_windows pending; /* windows of the open transaction */
	size_t mark;                 /* length of pending at the savepoint */
	size_t limit;
	atomic_size_t bytes, page_bytes; /* of dictionary and interning; of the writer's pages */
	bool prepared;
};

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
	struct sqlite3_stmt **all[] = { &d->put_chunk,   &d->put_window, &d->put_block,
					&d->put_times,   &d->put_owners, &d->put_id,
					&d->put_profile, &d->put_rollup, &d->drop_rollup };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		db_finalize(*all[i]);
		*all[i] = NULL;
	}
	db_close(d->db);
	d->db = NULL;
}

void day_close(struct day *d)
{
	if (!d)
		return;
	reader_pool_fini(&d->state.readers);
	close_writer(d);
	stack_dict_free(d->state.dict);
	intern_fini(&d->intern);
	block_writer_fini(&d->blocks);
	stable_fini(&d->state.spans);
	vec_fini(&d->pending);
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
	return d->bytes + d->page_bytes + reader_pool_bytes(&d->state.readers);
}

static void count_bytes(struct day *d)
{
	d->bytes = stack_dict_bytes(d->state.dict) + id_cache_bytes(&d->intern.frames) +
		   id_cache_bytes(&d->intern.stacks);
}

/* Prepares all statements once, since each append runs several of them. */
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
			       &d->drop_rollup, err);
	/* stores the rollup only if its slot still has the windows that were summed */
	if (r == 0)
		r = db_prepare(d->db,
			       "INSERT OR REPLACE INTO sums SELECT ?1, ?2, ?3, ?4, ?5 WHERE"
			       " (SELECT count(*)=?6 AND max(block)=?7 FROM windows"
			       " WHERE series=?1 AND time BETWEEN ?3 AND ?8)",
			       &d->put_rollup, err);
	return r;
}

static int load(struct day *d, struct sqlite3 *db, struct err *err)
{
	int format = 0, r = db_format(db, &format, err);
	uint64_t n_windows = 0;

	d->checked = format >= DB_FORMAT_CHECKED;
	if (r == 0)
		r = db_identity(db, &d->identity, err);
	if (r == 0)
		r = db_count_windows(db, &n_windows, err);
	d->n_windows = n_windows;
	if (r == 0)
		r = day_dict_load(d->state.dict, db, d->checked, err);
	return r < 0 ? r : day_spans_load(&d->state, db, err);
}

/* Opens the connection that writes. */
static int open_writer(struct day *d, struct err *err)
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
	int r = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name IN ('sums', 'owners')",
			  &n, err);

	return r < 0 || n == 2 ? r : open_writer(d, err);
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
	stable_init(&d->state.spans, sizeof(struct span));
	d->path = strdup(path);
	reader_pool_init(&d->state.readers, d->path);
	if (!d->path)
		return -ENOMEM;
	r = stack_dict_new(&d->state.dict);
	for (int k = 0; r == 0 && k < STACK_DICT_KIND_MAX; k++)
		d->saved[k] = stack_dict_count(d->state.dict, k);
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
	int r = open_writer(d, err);

	d->prepared = false;
	d->pending.len = 0;
	return r < 0 ? r : db_exec(d->db, "BEGIN IMMEDIATE", err);
}

void day_rollback(struct day *d)
{
	d->pending.len = 0;
	if (d->db && !sqlite3_get_autocommit(d->db))
		db_exec(d->db, "ROLLBACK", NULL);
}

int day_savepoint_begin(struct day *d, struct err *err)
{
	d->mark = d->pending.len;
	return db_exec(d->db, "SAVEPOINT mark", err);
}

/* autocommit is on again only if SQLite itself ended the transaction. */
int day_savepoint_end(struct day *d, bool keep, struct err *err)
{
	if (sqlite3_get_autocommit(d->db))
		return err_set(err, -EIO, "SQLite rolled the transaction back");
	if (keep)
		return db_exec(d->db, "RELEASE mark", err);
	d->pending.len = d->mark;
	return db_exec(d->db, "ROLLBACK TO mark; RELEASE mark", err);
}

/*
 * Returns 1 if the profile is new, 0 if a profile with its id was appended before. The unique key
 * decides within the transaction, so two pushes of one profile in one batch are noticed too.
 */
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

/* Lets queries by profile id find the window of block @id. */
static int put_id(struct day *d, const struct store_profile *p, int64_t id, struct err *err)
{
	if (!p->id || !p->id[0])
		return 0;
	sqlite3_bind_int64(d->put_id, 1, window_id_hash(p->id));
	sqlite3_bind_int64(d->put_id, 2, id);
	return db_step(d->db, d->put_id, err);
}

static int put_blob(struct day *d, struct sqlite3_stmt *stmt, int64_t id, struct buf *data,
		    struct err *err)
{
	int r;

	db_seal(data, d->checked);
	if (buf_error(data))
		return -ENOMEM;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_blob64(stmt, 2, data->data, data->len, SQLITE_STATIC);
	r = db_step(d->db, stmt, err);
	sqlite3_clear_bindings(stmt);
	return r;
}

/* Stores the sample times of the window of block @id, if the profile has any. */
static int put_times(struct day *d, const struct store_profile *p, const struct window_entry *e,
		     size_t n, const struct window_rows *rows, int64_t id, struct err *err)
{
	_cleanup_(buf_fini) struct buf times = { 0 }, owners = { 0 };
	int r = sample_times_write(p->profile, e, n, rows, p->time_ns, &times, &owners);

	if (r < 0 || !times.len)
		return r;
	r = put_blob(d, d->put_times, id, &times, err);
	return r < 0 ? r : put_blob(d, d->put_owners, id, &owners, err);
}

/*
 * Stores block and head in tables of their own, because most queries over time need the heads only
 * and would otherwise read pages full of blocks.
 */
static int put_window(struct day *d, const struct store_profile *p, uint32_t series,
		      const struct window_rows *rows, int64_t *out_id, struct err *err)
{
	_cleanup_(buf_fini) struct buf block = { 0 }, head = { 0 };
	int r = block_write(&d->blocks, rows->nodes, rows->values, rows->n, rows->n_types, &block);

	window_put_head(rows, profile_meta_const(p->profile), &head);
	db_seal(&block, d->checked);
	db_seal(&head, d->checked);
	if (r < 0 || buf_error(&block) || buf_error(&head))
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
		r = drop_rollups(d, series, p->time_ns, err);
	if (r < 0)
		return r;
	return vec_push(&d->pending, (struct span_window){ series, p->time_ns });
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

/* Writes what the dictionary gained since the last commit, mostly one chunk per kind. */
static int save_chunks(struct day *d, struct err *err)
{
	return day_dict_save(d->state.dict, d->saved, d->db, d->put_chunk, d->checked, err);
}

int day_prepare(struct day *d, struct err *err)
{
	int r = day_spans_make(&d->state), rc;

	if (r == 0)
		r = save_chunks(d, err);
	if (r < 0)
		return r;
	rc = sqlite3_db_cacheflush(d->db);
	if (rc != SQLITE_OK)
		return db_error(d->db, rc, err);
	d->prepared = true;
	return 0;
}

/* A single day is not flushed beforehand: the commit does that. */
int day_commit(struct day *d, struct err *err)
{
	int r = d->prepared ? 0 : day_spans_make(&d->state);

	if (r == 0 && !d->prepared)
		r = save_chunks(d, err);
	if (r == 0)
		r = db_exec(d->db, "COMMIT", err);
	if (r < 0) {
		day_rollback(d);
		return r;
	}
	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		d->saved[k] = stack_dict_count(d->state.dict, k);
	day_spans_widen(&d->state, &d->pending);
	d->n_windows += d->pending.len;
	d->pending.len = 0;
	d->page_bytes = db_cache_bytes(d->db);
	return 0;
}

int day_span(struct day *d, int64_t *out_first, int64_t *out_last)
{
	return day_spans_all(&d->state, out_first, out_last);
}

/*
 * At most ROLLUP_BATCH slots per call bound how long the writer thread is shared with rollups.
 * @d->seen_block belongs to the thread that rolls up.
 */
int day_find_rollups(struct day *d, int64_t before_ns, struct rollup_slots *out, struct err *err)
{
	struct reader *rd = NULL;
	int64_t last = 0;
	int r = reader_pool_acquire(&d->state.readers, &rd, err);

	if (r == 0)
		r = db_number(rd->db, "SELECT max(id) FROM blocks", &last, err);
	/* A slot that gained a block since the last search will likely gain more. */
	if (r == 0)
		r = rollup_find(rd->db, before_ns, d->seen_block, ROLLUP_BATCH, out, err);
	d->seen_block = last;
	if (rd)
		reader_pool_release(&d->state.readers, rd);
	return r;
}

int day_build_rollup(struct day *d, const struct rollup_slot *slot, struct rollup_builder *b,
		     struct err *err)
{
	struct reader *rd = NULL;
	uint32_t n_types, n_nodes;
	int r = reader_pool_acquire(&d->state.readers, &rd, err);

	n_types = series_n_types(d->state.dict, slot->series);
	n_nodes = stack_dict_count(d->state.dict, STACK_DICT_NODES);
	if (r == 0)
		r = rollup_build(b, rd, slot, n_types, n_nodes, err);
	if (rd)
		reader_pool_release(&d->state.readers, rd);
	return r;
}

/*
 * The statement compares number and last block of the slot's windows with those that were summed.
 * Both change when a window is added, and block ids only rise, so equality means that nothing was
 * added in between.
 */
int day_put_rollup(struct day *d, const struct rollup_slot *slot, const struct rollup_builder *b,
		   struct err *err)
{
	int64_t last = slot->start + rollup_step_ns(slot->level) - 1;
	int r = open_writer(d, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(d->put_rollup, 1, slot->series);
	sqlite3_bind_int(d->put_rollup, 2, slot->level);
	sqlite3_bind_int64(d->put_rollup, 3, slot->start);
	sqlite3_bind_blob64(d->put_rollup, 4, b->head.data, b->head.len, SQLITE_STATIC);
	sqlite3_bind_blob64(d->put_rollup, 5, b->data.data, b->data.len, SQLITE_STATIC);
	sqlite3_bind_int64(d->put_rollup, 6, slot->n_windows);
	sqlite3_bind_int64(d->put_rollup, 7, slot->last_block);
	sqlite3_bind_int64(d->put_rollup, 8, last);
	r = db_step(d->db, d->put_rollup, err);
	sqlite3_clear_bindings(d->put_rollup);
	return r;
}
