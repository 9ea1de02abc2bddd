/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens each day file read-only and queries the size of its tables. The numbers are those
 * of the data; pages and indexes come on top.
 */
#include "store/sqlite/sqlite_usage.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/db.h"
#include "store/sqlite/manifest.h"

_Static_assert(STACK_DICT_STRINGS == 0 && STACK_DICT_FRAMES == 1 && STACK_DICT_NODES == 2 &&
		       STACK_DICT_SERIES == 3,
	       "the SQL below has these numbers");

/* The SQL that computes the bytes of each part, and the table that it needs. */
static const struct {
	const char *table, *sql;
} queries[STORE_USAGE_PARTS] = {
	[STORE_USAGE_BLOCKS] = { "blocks", "SELECT sum(length(data)) FROM blocks" },
	[STORE_USAGE_WINDOWS] = { "windows", "SELECT sum(length(head)) FROM windows" },
	[STORE_USAGE_STRINGS] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=0" },
	[STORE_USAGE_FRAMES] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=1" },
	[STORE_USAGE_STACKS] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=2" },
	[STORE_USAGE_SERIES] = { "chunks", "SELECT sum(length(data)) FROM chunks WHERE kind=3" },
	[STORE_USAGE_IDS] = { "profiles", "SELECT sum(length(key)) FROM profiles" },
	[STORE_USAGE_TIMES] = { "times", "SELECT sum(length(data)) FROM times" },
	[STORE_USAGE_SUMS] = { "sums", "SELECT sum(length(data)) FROM sums" },
	[STORE_USAGE_OWNERS] = { "owners", "SELECT sum(length(data)) FROM owners" },
};

/* Files written by older versions lack some of the tables. */
static int read_part(struct sqlite3 *db, int part, uint64_t *out, struct err *err)
{
	int64_t there = 0, bytes = 0;
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_schema WHERE name='%s'",
		 queries[part].table);
	r = db_number(db, sql, &there, err);
	if (r == 0 && there)
		r = db_number(db, queries[part].sql, &bytes, err);
	*out = (uint64_t)bytes;
	return r;
}

static int read_day(const char *path, struct store_usage_day *out, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	int64_t n_series = 0;
	int r = db_open(&db, path, DB_READ, err);

	if (r == 0)
		r = db_count_windows(db, &out->n_windows, err);
	if (r == 0)
		r = db_number(db, "SELECT count(DISTINCT series) FROM windows", &n_series, err);
	for (int i = 0; r == 0 && i < STORE_USAGE_PARTS; i++)
		r = read_part(db, i, &out->parts[i], err);
	out->n_series = (uint64_t)n_series;
	return r;
}

/* Reads and reports one day; @exists is false for a day of which only the manifest knows. */
static int report_day(const char *dir, const struct day_file *f, bool exists, store_usage_fn fn,
		      void *ctx, struct err *err)
{
	struct store_usage_day day = { .tenant = f->tenant,
				       .start_ns = f->number * STORE_DAY_NS,
				       .bytes = f->bytes };
	char path[DAY_FILES_PATH_LEN];
	struct err why = { 0 };
	int r;

	day_files_path(dir, f->tenant, f->number, path);
	r = exists ? read_day(path, &day, &why) : err_set(&why, -EBADMSG, "its file was deleted");
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

static bool has_day(const struct day_files *files, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < files->len; i++)
		if (files->data[i].number == number && !strcmp(files->data[i].tenant, tenant))
			return true;
	return false;
}

/* Adds the days of a tenant's manifest that have no file. Without a manifest there are none. */
static int add_lost(const char *dir, const char *tenant, const struct day_files *files,
		    struct day_files *out)
{
	_cleanup_(manifest_fini) struct manifest m = { 0 };
	int r = manifest_load(&m, dir, tenant, NULL);

	for (size_t i = 0; (r == 0 || r == -EBADMSG) && i < m.len; i++) {
		struct day_file lost = { .number = m.data[i].day };

		snprintf(lost.tenant, sizeof(lost.tenant), "%s", tenant);
		if (!has_day(files, tenant, lost.number) && !has_day(out, tenant, lost.number) &&
		    vec_push(out, lost) < 0)
			r = -ENOMEM;
	}
	return r == -ENOMEM ? r : 0;
}

/* Finds the lost days of @tenant, or of all tenants. */
static int find_lost(const char *dir, const char *tenant, const struct day_files *files,
		     struct day_files *out)
{
	_cleanup_(closedirp) DIR *d = tenant ? NULL : opendir(dir);
	const struct dirent *e;
	int r = tenant ? add_lost(dir, tenant, files, out) : 0;

	while (r == 0 && d && (e = readdir(d)))
		if (store_tenant_valid(e->d_name))
			r = add_lost(dir, e->d_name, files, out);
	return r;
}

int sqlite_usage_days(const char *dir, const char *tenant, store_usage_fn fn, void *ctx,
		      struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 }, lost = { 0 }, all = { 0 };
	int r = day_files_list(dir, &files);

	if (r == 0)
		r = find_lost(dir, tenant, &files, &lost);
	for (size_t i = 0; r == 0 && i < files.len; i++)
		if (!tenant || !strcmp(tenant, files.data[i].tenant))
			r = vec_push(&all, files.data[i]);
	for (size_t i = 0; r == 0 && i < lost.len; i++)
		r = vec_push(&all, lost.data[i]);
	if (r < 0)
		return err_set(err, r, "cannot list \"%.150s\": %s", dir, strerror(-r));
	day_files_sort(&all);
	for (size_t i = 0; r == 0 && i < all.len; i++)
		r = report_day(dir, &all.data[i],
			       !has_day(&lost, all.data[i].tenant, all.data[i].number), fn, ctx,
			       err);
	return r;
}
