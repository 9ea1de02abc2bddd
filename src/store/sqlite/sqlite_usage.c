/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens each day file read-only and queries the size of its tables. The numbers are those
 * of the data; pages and indexes come on top.
 */
#include "store/sqlite/sqlite_usage.h"

#include <errno.h>
#include <stdio.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/db.h"

_Static_assert(STACK_DICT_STRINGS == 0 && STACK_DICT_FRAMES == 1 && STACK_DICT_NODES == 2 &&
		       STACK_DICT_SERIES == 3,
	       "the SQL below has these numbers");

/* The SQL that computes the bytes of each part, and the table that it needs. */
static const struct {
	const char *table, *sql;
} queries[STORE_USAGE_PARTS] = {
	[STORE_USAGE_BLOCKS] = { "blocks", "SELECT sum(length(data)) FROM blocks" },
	[STORE_USAGE_PACKS] = { "packs",
				"SELECT coalesce(sum(length(heads)), 0) +"
				" (SELECT coalesce(sum(length(data)), 0) FROM packed) FROM packs" },
	[STORE_USAGE_WINDOWS] = { "windows", "SELECT sum(length(head)) FROM windows" },
	[STORE_USAGE_STRINGS] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=0" },
	[STORE_USAGE_FRAMES] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=1" },
	[STORE_USAGE_STACKS] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=2" },
	[STORE_USAGE_SERIES] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=3" },
	[STORE_USAGE_IDS] = { "profiles", "SELECT sum(length(key)) FROM profiles" },
	[STORE_USAGE_TIMES] = { "times", "SELECT sum(length(data)) FROM times" },
	[STORE_USAGE_SUMS] = { "sums", "SELECT sum(length(data)) FROM sums" },
	[STORE_USAGE_OWNERS] = { "owners", "SELECT sum(length(data)) FROM owners" },
	[STORE_USAGE_ARRIVALS] = { "arrivals", "SELECT sum(length(data)) FROM arrivals" },
	[STORE_USAGE_TRACED] = { "traced", "SELECT sum(length(id) + length(data)) FROM traced" },
};

/* Files written by older versions lack some of the tables. */
static int read_part(struct sqlite3 *db, int part, uint64_t *out, struct err *err)
{
	int64_t there = 0, bytes = 0;
	char sql[256];
	int r;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_schema WHERE name='%s'",
		 queries[part].table);
	r = db_number(db, sql, &there, err);
	if (r == 0 && there)
		r = db_number(db, queries[part].sql, &bytes, err);
	*out = (uint64_t)bytes;
	return r;
}

/* Files written by older versions have no packs. */
static const char *const settled_series[2] = {
	"SELECT series FROM windows WHERE series=?1",
	"SELECT series FROM windows WHERE series=?1"
	" UNION ALL SELECT series FROM packs WHERE series=?1",
};
static const char *const count_series[2] = {
	"SELECT count(DISTINCT series) FROM windows",
	"SELECT count(*) FROM (SELECT series FROM windows UNION SELECT series FROM packs)",
};

/* Counts the series of the windows that arrived last and are in no other window. */
static int count_new_series(struct sqlite3 *db, bool has_packs, int64_t *io_n, struct err *err)
{
	_cleanup_(arrivals_fini) struct arrivals a = { 0 };
	struct sqlite3_stmt *find = NULL;
	int r = arrivals_read(&a, db, err);

	if (r == 0)
		r = db_prepare(db, settled_series[has_packs], &find, err);
	for (size_t i = 0; r == 0 && i < a.windows.len; i++) {
		if (i && a.windows.data[i].series == a.windows.data[i - 1].series)
			continue;
		sqlite3_bind_int64(find, 1, a.windows.data[i].series);
		r = db_step(db, find, err);
		sqlite3_reset(find);
		*io_n += r == 0;
		r = r > 0 ? 0 : r;
	}
	db_finalize(find);
	return r;
}

static int read_parts(struct sqlite3 *db, struct store_usage_day *out, struct err *err)
{
	int64_t n_series = 0;
	int format = 0, r = db_format(db, &format, err);
	bool has_packs = format >= DB_FORMAT_PACKS;

	if (r == 0)
		r = db_count_windows(db, &out->n_windows, err);
	if (r == 0)
		r = db_number(db, count_series[has_packs], &n_series, err);
	if (r == 0)
		r = count_new_series(db, has_packs, &n_series, err);
	for (int i = 0; r == 0 && i < STORE_USAGE_PARTS; i++)
		r = read_part(db, i, &out->parts[i], err);
	out->n_series = (uint64_t)n_series;
	return r;
}

/* A transaction, as the server may write meanwhile. */
static int read_day(const char *path, enum db_mode mode, struct store_usage_day *out,
		    struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int r = db_open(&db, path, mode, err);

	if (r == 0)
		r = db_exec(db, "BEGIN", err);
	return r < 0 ? r : read_parts(db, out, err);
}

static int report_day(const char *dir, const struct day_file *f, enum db_mode mode,
		      store_usage_fn fn, void *ctx, struct err *err)
{
	struct store_usage_day day = { .tenant = f->tenant,
				       .start_ns = f->number * STORE_DAY_NS,
				       .bytes = f->bytes };
	char path[DAY_FILES_PATH_LEN];
	struct err why = { 0 };
	int r;

	day_files_path(dir, f->tenant, f->number, path);
	r = f->is_lost ? err_set(&why, -EBADMSG, "its file was deleted")
		       : read_day(path, mode, &day, &why);
	if (r == -ENOENT || r == -ENODATA) /* removed meanwhile */
		return 0;
	if (r == -EBADMSG)
		day = (struct store_usage_day){ .tenant = f->tenant,
						.start_ns = day.start_ns,
						.bytes = f->bytes,
						.damage = why.msg };
	else if (r < 0)
		return err_set(err, r, "%s", why.msg);
	return fn(ctx, &day);
}

int sqlite_usage_days(const char *dir, const char *tenant, enum db_mode mode, store_usage_fn fn,
		      void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r = day_list(dir, tenant, &files, err);

	for (size_t i = 0; r == 0 && i < files.len; i++)
		r = report_day(dir, &files.data[i], mode, fn, ctx, err);
	return r;
}
