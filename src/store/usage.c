/* SPDX-License-Identifier: Apache-2.0 */
#include "store/usage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/db.h"
#include "store/files.h"
#include "store/symbols.h"

_Static_assert(SYMBOLS_STRINGS == 0 && SYMBOLS_FRAMES == 1 && SYMBOLS_NODES == 2 &&
		       SYMBOLS_SERIES == 3,
	       "the kinds that the queries name");

static const struct {
	const char *label, *table, *sql;
} parts[] = {
#define X(sym, label, table, sql) { label, table, sql },
#include "store/usage_parts.def"
#undef X
};

const char *usage_part_label(enum usage_part part)
{
	return parts[part].label;
}

/* Files of before have not all tables. */
static int read_part(struct sqlite3 *db, int part, uint64_t *out, struct err *err)
{
	int64_t there = 0, bytes = 0;
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_schema WHERE name='%s'",
		 parts[part].table);
	r = db_number(db, sql, &there, err);
	if (r == 0 && there)
		r = db_number(db, parts[part].sql, &bytes, err);
	*out = (uint64_t)bytes;
	return r;
}

static int read_day(const char *path, struct usage_day *out, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int64_t n_windows = 0, n_series = 0;
	int r = db_open(&db, path, DB_READ, err);

	if (r == 0)
		r = db_number(db, "SELECT count(*) FROM windows", &n_windows, err);
	if (r == 0)
		r = db_number(db, "SELECT count(DISTINCT series) FROM windows", &n_series, err);
	for (int i = 0; r == 0 && i < USAGE_PARTS; i++)
		r = read_part(db, i, &out->parts[i], err);
	out->n_windows = (uint64_t)n_windows;
	out->n_series = (uint64_t)n_series;
	return r;
}

int usage_days(const char *dir, const char *tenant, usage_fn fn, void *ctx, struct err *err)
{
	_cleanup_(files_fini) struct files files = { 0 };
	char path[FILES_PATH_LEN];
	int r = files_list(dir, &files);

	if (r < 0)
		return err_set(err, r, "%.150s: %s", dir, strerror(-r));
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		struct usage_day day = { .tenant = f->tenant,
					 .start_ns = f->number * DAY_NS,
					 .bytes = f->bytes };

		if (tenant && strcmp(tenant, f->tenant) != 0)
			continue;
		files_path(dir, f->tenant, f->number, path);
		r = read_day(path, &day, err);
		if (r == -ENOENT || r == -EBADMSG) /* gone meanwhile; or left to who opens it */
			r = 0;
		if (r == 0)
			r = fn(ctx, &day);
	}
	return r;
}
