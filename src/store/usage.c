/* SPDX-License-Identifier: Apache-2.0 */
#include "store/usage.h"

#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/db.h"
#include "store/files.h"
#include "store/symbols.h"

_Static_assert(SYMBOLS_STRINGS == 0 && SYMBOLS_FRAMES == 1 && SYMBOLS_NODES == 2 &&
		       SYMBOLS_SERIES == 3,
	       "the kinds that the queries name");

const char *usage_part_label(enum usage_part part)
{
	static const char *const labels[] = {
#define X(sym, label, sql) label,
#include "store/usage_parts.def"
#undef X
	};

	return labels[part];
}

static int read_day(const char *path, struct usage_day *out, struct err *err)
{
	static const char sql[] = "SELECT (SELECT count(*) FROM windows),"
				  " (SELECT count(DISTINCT series) FROM windows)"
#define X(sym, label, sql) "," sql
#include "store/usage_parts.def"
#undef X
		;
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	struct sqlite3_stmt *stmt = NULL;
	int r = db_open(&db, path, DB_READ, err);

	if (r == 0)
		r = db_prepare(db, sql, &stmt, err);
	if (r == 0)
		r = db_step(db, stmt, err);
	if (r > 0) {
		out->n_windows = (uint64_t)sqlite3_column_int64(stmt, 0);
		out->n_series = (uint64_t)sqlite3_column_int64(stmt, 1);
		for (int i = 0; i < USAGE_PARTS; i++)
			out->parts[i] = (uint64_t)sqlite3_column_int64(stmt, 2 + i);
	}
	db_finalize(stmt);
	return r < 0 ? r : 0;
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
