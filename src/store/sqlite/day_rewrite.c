/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are copied by SQL from the attached old file. The function content() returns a blob of the
 * old file after comparing its checksum, seal() appends one.
 */
#include "store/sqlite/day_rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/files.h"
#include "store/series.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_dict.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_pack.h"
#include "store/sqlite/day_settle.h"
#include "store/sqlite/durable.h"

enum { NEW_PATH_LEN = DAY_FILES_PATH_LEN + 16 };

static void new_path(const char *path, char out[NEW_PATH_LEN])
{
	snprintf(out, NEW_PATH_LEN, "%s.new", path);
}

void day_rewrite_clean(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	char part[NEW_PATH_LEN + 16], new[NEW_PATH_LEN];

	new_path(path, new);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(part, sizeof(part), "%s%s", new, suffixes[i]);
		unlink(part);
	}
}

/* ---- functions for SQL -------------------------------------------------------------- */

/* The argument is a blob of the old file; the user data says if such blobs have checksums. */
static void sql_content(sqlite3_context *ctx, int n, sqlite3_value **args)
{
	const void *data;
	size_t len;

	if (db_value(args[0], *(const bool *)sqlite3_user_data(ctx), &data, &len) < 0)
		sqlite3_result_error_code(ctx, SQLITE_CORRUPT);
	else if (!data || !len)
		sqlite3_result_zeroblob(ctx, 0);
	else
		sqlite3_result_blob64(ctx, data, len, SQLITE_TRANSIENT);
}

static void sql_seal(sqlite3_context *ctx, int n, sqlite3_value **args)
{
	_cleanup_(buf_fini) struct buf blob = { 0 };

	buf_put(&blob, sqlite3_value_blob(args[0]), (size_t)sqlite3_value_bytes(args[0]));
	db_seal(&blob, true);
	if (buf_error(&blob))
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_blob64(ctx, blob.data, blob.len, SQLITE_TRANSIENT);
}

static int add_functions(struct sqlite3 *db, bool *checked)
{
	int rc = sqlite3_create_function(db, "content", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, checked,
					 sql_content, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(db, "seal", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
					     sql_seal, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_error(db, rc, NULL);
}

/* ---- selecting ---------------------------------------------------------------------- */

/* A series is selected if all of its sample types are, since their values share a block. */
static int is_selected(const struct stack_dict *dict, uint32_t series,
		       const struct store_deletion *del, struct series_view *view)
{
	for (uint32_t k = 0; k < series_n_types(dict, series); k++) {
		int r = series_view(view, dict, series, k);

		if (r < 0)
			return r;
		if (!series_view_matches(view, del->matchers, del->n_matchers))
			return 0;
	}
	return 1;
}

/* Fills the table doomed with the series that the matchers select. */
static int select_series(struct sqlite3 *db, const struct stack_dict *dict,
			 const struct store_deletion *del, struct err *err)
{
	struct sqlite3_stmt *put = NULL;
	struct series_view view = { 0 };
	int r = db_prepare(db, "INSERT INTO doomed VALUES(?)", &put, err);

	for (uint32_t i = 0; r == 0 && i < stack_dict_count(dict, STACK_DICT_SERIES); i++) {
		r = is_selected(dict, i, del, &view);
		if (r <= 0)
			continue;
		sqlite3_bind_int64(put, 1, i);
		r = db_step(db, put, err);
	}
	series_view_fini(&view);
	db_finalize(put);
	return r;
}

static const char copy_windows[] =
	"INSERT INTO main.windows SELECT series, time, block, seal(content(head)) FROM old.windows"
	" WHERE NOT (time>=?1 AND time<?2 AND series IN (SELECT series FROM doomed))"
	" ORDER BY series, time, block";

/* Sums of slots that lose windows are derived data, and are left out. */
static const char copy_sums[] =
	"INSERT INTO main.sums SELECT series, level, start,"
	" seal(content(head)), seal(content(data)) FROM old.sums"
	" WHERE NOT (start<?2 AND"
	" start + CASE level WHEN 0 THEN 600 ELSE 7200 END * 1000000000 > ?1"
	" AND series IN (SELECT series FROM doomed))";

/* Runs a statement whose arguments are the range of the deletion, which is empty without one. */
static int run_for_range(struct sqlite3 *db, const char *sql, const struct store_deletion *del,
			 struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, del ? del->start_ns : 0);
		sqlite3_bind_int64(stmt, 2, del ? del->end_ns : 0);
		r = db_step(db, stmt, err);
	}
	db_finalize(stmt);
	return r;
}

/* The numbers of windows in packs are among the kept ones already. */
static const char copy_rows[] =
	"INSERT INTO kept SELECT block FROM main.windows;"
	"INSERT INTO main.chunks SELECT kind, first, seal(content(data)) FROM old.chunks"
	" ORDER BY kind, first;"
	"INSERT INTO main.blocks SELECT id, seal(content(data)) FROM old.blocks"
	" WHERE id IN (SELECT block FROM main.windows) ORDER BY id;"
	"INSERT INTO main.ids SELECT id, block FROM old.ids"
	" WHERE block IN (SELECT block FROM kept) ORDER BY 1, 2;"
	"INSERT INTO main.times SELECT block, seal(content(data)) FROM old.times"
	" WHERE block IN (SELECT block FROM kept) ORDER BY 1;"
	"INSERT INTO main.owners SELECT block, seal(content(data)) FROM old.owners"
	" WHERE block IN (SELECT block FROM kept) ORDER BY 1;"
	"INSERT INTO main.traced SELECT block, id, seal(content(data)) FROM old.traced"
	" WHERE block IN (SELECT block FROM kept) ORDER BY 1, 2;"
	"INSERT INTO main.profiles SELECT key FROM old.profiles ORDER BY key;"
	"DELETE FROM main.gaps;"
	"INSERT INTO main.gaps SELECT coalesce(max(block), 0) - count(*) FROM kept";

/* ---- packs -------------------------------------------------------------------------- */

/* The packs of the old file, which are copied. Zero-initialize it. */
struct pack_copy {
	struct sqlite3 *db;
	const struct store_deletion *del;
	struct sqlite3_stmt *is_doomed, *keep;
	struct day_pack_writer writer;
	struct day_pack_builder builder;
	struct day_pack out;
	struct err *err;
};

static void pack_copy_fini(struct pack_copy *c)
{
	db_finalize(c->is_doomed);
	db_finalize(c->keep);
	day_pack_writer_fini(&c->writer);
	day_pack_builder_fini(&c->builder);
	day_pack_fini(&c->out);
}

static bool is_deleted(const struct pack_copy *c, int64_t time_ns)
{
	return time_ns >= c->del->start_ns && time_ns < c->del->end_ns;
}

/* Returns 1 if the deletion selects the series, 0 or -errno. */
static int is_doomed(struct pack_copy *c, uint32_t series)
{
	int r;

	sqlite3_bind_int64(c->is_doomed, 1, series);
	r = db_step(c->db, c->is_doomed, c->err);
	sqlite3_reset(c->is_doomed);
	return r;
}

static int keep(struct pack_copy *c, const struct pack *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->windows.len; i++) {
		sqlite3_bind_int64(c->keep, 1, p->windows.data[i].block);
		r = db_step(c->db, c->keep, c->err);
	}
	return r;
}

/* Columns: series, start, heads, rows. */
static int copy_pack(struct pack_copy *c, struct sqlite3_stmt *row)
{
	struct pack *all = &c->builder.all, *old = &c->builder.old;
	struct day_pack_blobs blobs;
	int r = day_pack_read_blobs(row, 2, &blobs), doomed;

	c->out.slot = (struct rollup_slot){ (uint32_t)sqlite3_column_int64(row, 0), ROLLUP_PACK,
					    sqlite3_column_int64(row, 1), 0, 0 };
	if (r == 0)
		r = day_pack_read(&c->builder, &blobs);
	doomed = r < 0 ? r : c->del ? is_doomed(c, c->out.slot.series) : 0;
	if (doomed < 0)
		return doomed;
	pack_clear(all);
	all->n_types = old->n_types;
	for (size_t i = 0; r == 0 && i < old->windows.len; i++)
		if (!doomed || !is_deleted(c, old->windows.data[i].time_ns))
			r = pack_append(all, old, i);
	if (r < 0 || !all->windows.len)
		return r;
	r = day_pack_write(&c->builder, &c->out);
	if (r == 0)
		r = day_pack_insert(&c->writer, &c->out, c->err);
	return r < 0 ? r : keep(c, all);
}

static int prepare_copy(struct pack_copy *c)
{
	int r = db_prepare(c->db, "SELECT 1 FROM doomed WHERE series=?", &c->is_doomed, c->err);

	if (r == 0)
		r = db_prepare(c->db, "INSERT INTO kept VALUES(?)", &c->keep, c->err);
	return r < 0 ? r : day_pack_writer_init(&c->writer, c->db, c->err);
}

static int copy_packs(struct sqlite3 *db, const struct store_deletion *del, struct err *err)
{
	_cleanup_(pack_copy_fini) struct pack_copy c = { .db = db, .del = del, .err = err };
	struct sqlite3_stmt *stmt = NULL;
	int r = prepare_copy(&c);

	if (r == 0)
		r = db_prepare(db,
			       "SELECT p.series, p.start, p.heads, d.data FROM old.packs p"
			       " JOIN old.packed d ON d.id=p.id ORDER BY p.start, p.series",
			       &stmt, err);
	while (r == 0 && (r = db_step(db, stmt, err)) > 0)
		r = copy_pack(&c, stmt);
	db_finalize(stmt);
	return r;
}

/* ---- rewriting ---------------------------------------------------------------------- */

static int load_dict(const char *path, struct stack_dict **out, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	const struct arrivals none = { 0 }; /* finish_log() */
	int format = 0, r = stack_dict_new(out);

	if (r == 0)
		r = db_open(&db, path, DB_READ, err);
	if (r == 0)
		r = db_format(db, &format, err);
	return r < 0 ? r : day_dict_load(*out, db, format >= DB_FORMAT_CHECKED, &none, NULL, err);
}

static int check_log(const char *path, struct err *err)
{
	char log[NEW_PATH_LEN + 8];

	snprintf(log, sizeof(log), "%s-wal", path);
	return access(log, F_OK) == 0
		       ? err_set(err, -EBUSY, "\"%.150s\" is in use by another process", path)
		       : 0;
}

/*
 * Moves what arrived last into the tables, which are copied, and the log of the old file into it,
 * so that no log is next to the new one: SQLite would apply it. The last connection removes the log
 * when it is closed.
 */
static int finish_log(const char *path, struct err *err)
{
	struct sqlite3 *db = NULL;
	int r = db_open(&db, path, DB_WRITE, err);

	if (r == 0)
		r = day_settle_file(db, err);
	db_close(db);
	return r < 0 ? r : check_log(path, err);
}

static int attach(struct sqlite3 *db, const char *path, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "ATTACH ? AS old", &stmt, err);

	if (r == 0) {
		sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
		r = db_step(db, stmt, err);
	}
	db_finalize(stmt);
	return r < 0 ? r
		     : db_exec(db,
			       "PRAGMA temp_store=MEMORY;"
			       "CREATE TEMP TABLE doomed(series INTEGER PRIMARY KEY);"
			       "CREATE TEMP TABLE kept(block INTEGER PRIMARY KEY)",
			       err);
}

static int put_identity(struct sqlite3 *db, const struct db_identity *id, struct err *err)
{
	static const struct db_identity none;
	struct sqlite3_stmt *stmt = NULL;
	int r;

	if (!memcmp(id, &none, sizeof(none)))
		return 0;
	r = db_prepare(db, "UPDATE main.identity SET id=?", &stmt, err);
	if (r == 0) {
		sqlite3_bind_blob(stmt, 1, id->bytes, DB_IDENTITY_LEN, SQLITE_STATIC);
		r = db_step(db, stmt, err);
	}
	db_finalize(stmt);
	return r;
}

static int copy(struct sqlite3 *db, const char *path, const struct day_check *have,
		const struct store_deletion *del, struct err *err)
{
	_cleanup_(stack_dict_freep) struct stack_dict *dict = NULL;
	bool checked = have->format >= DB_FORMAT_CHECKED;
	int r = del ? load_dict(path, &dict, err) : 0;

	if (r == 0)
		r = add_functions(db, &checked);
	if (r == 0)
		r = attach(db, path, err);
	if (r == 0)
		r = db_exec(db, "BEGIN IMMEDIATE", err);
	if (r == 0 && del)
		r = select_series(db, dict, del, err);
	if (r == 0)
		r = run_for_range(db, copy_windows, del, err);
	if (r == 0 && have->format >= DB_FORMAT_PACKS)
		r = copy_packs(db, del, err);
	if (r == 0)
		r = db_exec(db, copy_rows, err);
	if (r == 0)
		r = run_for_range(db, copy_sums, del, err);
	if (r == 0)
		r = put_identity(db, &have->identity, err);
	return r < 0 ? r : db_exec(db, "COMMIT; DETACH old", err);
}

/* Builds the new file and checks all of it. Closing it leaves no log. */
static int build(const char *path, const char *new, int64_t number, const struct day_check *have,
		 const struct store_deletion *del, struct day_check *out, struct err *err)
{
	struct sqlite3 *db = NULL;
	int r = db_open(&db, new, DB_WRITE, err);

	if (r == 0)
		r = copy(db, path, have, del, err);
	db_close(db);
	if (r == 0)
		r = check_log(new, err);
	if (r == 0)
		r = day_check(new, number, out, err);
	return r < 0 ? r : check_log(path, err);
}

static int replace(const char *path, int64_t number, const struct store_deletion *del,
		   day_rewrite_fn before, void *ctx, struct day_rewrite *out, struct err *err)
{
	struct day_check have = { 0 }, done = { 0 };
	char new[NEW_PATH_LEN];
	int r = day_check(path, number, &have, err);

	new_path(path, new);
	if (r == 0)
		r = finish_log(path, err);
	if (r == 0)
		r = build(path, new, number, &have, del, &done, err);
	if (r < 0)
		return r;
	*out = (struct day_rewrite){ done.n_windows, have.n_windows - done.n_windows,
				     done.identity };
	if (del && !out->n_deleted)
		return 0;
	if (!del && out->n_deleted)
		return err_set(err, -EIO, "the copy lacks %llu windows",
			       (unsigned long long)out->n_deleted);
	r = before ? before(ctx, out, err) : 0;
	return r < 0 ? r : durable_rename(new, path, err);
}

int day_rewrite(const char *path, int64_t number, const struct store_deletion *del,
		day_rewrite_fn before, void *ctx, struct day_rewrite *out, struct err *err)
{
	int r;

	*out = (struct day_rewrite){ 0 };
	day_rewrite_clean(path);
	r = replace(path, number, del, before, ctx, out, err);
	day_rewrite_clean(path);
	return r;
}
