/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utc.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/day_rewrite.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/manifest.h"

/* Checks that the entry of the day in @m describes this file. Returns 0, -ENOMEM or -EUCLEAN. */
static int compare(struct manifest *m, const struct day_file *f, const struct day_check *have,
		   struct err *err)
{
	int r = manifest_check(m, f->number, &have->identity, err);

	return r < 0 ? r : manifest_record(m, f->number, &have->identity, have->n_windows, err);
}

/*
 * Checks one file with its line in the manifest, which is read first: a server may add windows
 * meanwhile, and the line has a minimum. Returns the same values as day_check(), or -EUCLEAN.
 */
static int check_file(const char *dir, const struct day_file *f, struct store_file *out,
		      struct err *err)
{
	_cleanup_(manifest_fini) struct manifest m = { 0 };
	struct day_check have = { 0 };
	int r = manifest_load(&m, dir, f->tenant, err);

	if (r == 0 && f->is_lost)
		r = manifest_check(&m, f->number, NULL, err);
	else if (r == 0)
		r = day_check(out->path, f->number, &have, err);
	if (r == 0 && !f->is_lost)
		r = compare(&m, f, &have, err);
	out->n_windows = have.n_windows;
	return r;
}

int sqlite_files_check(const char *dir, store_file_fn fn, void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 }, tenants = { 0 };
	int r = day_list_tenants(dir, &tenants, err), n_damaged = 0;

	if (r == 0)
		r = day_list(dir, NULL, &files, err);
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		char path[DAY_FILES_PATH_LEN];
		struct store_file out = { .tenant = f->tenant,
					  .path = path,
					  .start_ns = f->number * STORE_DAY_NS,
					  .bytes = f->bytes };
		struct err why = { 0 };

		day_files_path(dir, f->tenant, f->number, path);
		r = check_file(dir, f, &out, &why);
		if (!f->is_lost && (r == -ENOENT || r == -ENODATA)) { /* removed meanwhile */
			r = 0;
			continue;
		}
		if (r == -EBADMSG || r == -EUCLEAN)
			out.damage = why.msg;
		else if (r < 0)
			return err_set(err, r, "cannot read \"%.120s\": %.100s", path,
				       why.msg[0] ? why.msg : strerror(-r));
		n_damaged += out.damage != NULL;
		r = fn(ctx, &out);
	}
	return r < 0 ? r : n_damaged ? -EUCLEAN : 0;
}

/* ---- changing files ----------------------------------------------------------------- */

/* A change of one file. */
struct change {
	const char *dir;
	const struct day_file *file;
	const struct store_deletion *del;
	struct manifest manifest;
};

static void change_fini(struct change *c)
{
	manifest_fini(&c->manifest);
}

static void put_time(struct buf *out, const char *key, int64_t time_ns)
{
	char text[UTC_TEXT_LEN];

	utc_text(time_ns, text);
	buf_printf(out, "%s%s", key, text);
}

/* Appends a line to the tenant's record of deletions, durably. */
static int log_deletion(const struct change *c, uint64_t n_windows, struct err *err)
{
	char path[DAY_FILES_PATH_LEN], date[DAY_FILES_DATE_LEN];
	_cleanup_(buf_fini) struct buf line = { 0 };
	_cleanup_(closep) int fd = -1;

	snprintf(path, sizeof(path), "%s/%s/deletions", c->dir, c->file->tenant);
	day_files_date(c->file->number, date);
	put_time(&line, "", (int64_t)clock_unix_ns());
	buf_printf(&line, " uid=%u day=%s", getuid(), date);
	put_time(&line, " from=", c->del->start_ns);
	put_time(&line, " until=", c->del->end_ns);
	buf_printf(&line, " profiles=%" PRIu64 " selector=%s\n", n_windows, c->del->selector);
	if (buf_error(&line))
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd < 0 || write(fd, line.data, line.len) != (ssize_t)line.len || fsync(fd) < 0 ||
	    durable_own(path) < 0 || durable_sync_parent(path) < 0)
		return err_set(err, errno ? -errno : -ENOSPC, "cannot write \"%.150s\": %s", path,
			       strerror(errno ? errno : ENOSPC));
	return 0;
}

/* The manifest expects fewer windows before they go. */
static int before_deletion(void *ctx, const struct day_rewrite *done, struct err *err)
{
	struct change *c = ctx;
	int r = log_deletion(c, done->n_deleted, err);

	if (r == 0)
		r = manifest_lower(&c->manifest, c->file->number, &done->identity, done->n_windows);
	return r < 0 ? r : manifest_save(&c->manifest, c->dir, err);
}

/* The number of windows that a file has, or had according to the manifest if it is damaged. */
static uint64_t count_windows(const struct change *c, const char *path)
{
	_cleanup_(db_closep) struct sqlite3 *db = NULL;
	uint64_t n = 0;

	if (db_open(&db, path, DB_READ, NULL) == 0 && db_count_windows(db, &n, NULL) == 0)
		return n;
	n = 0;
	for (size_t i = 0; i < c->manifest.len; i++)
		if (c->manifest.data[i].day == c->file->number)
			n += c->manifest.data[i].n_windows;
	return n;
}

/* A line without a file is a loss, so the line goes first. */
static int remove_day(struct change *c, struct store_file *out, struct err *err)
{
	int r;

	out->n_deleted = count_windows(c, out->path);
	r = log_deletion(c, out->n_deleted, err);
	if (r < 0)
		return r;
	manifest_remove(&c->manifest, c->file->number);
	r = manifest_save(&c->manifest, c->dir, err);
	if (r == 0)
		r = day_files_unlink(c->dir, c->file->tenant, c->file->number);
	if (r == 0)
		r = durable_sync_parent(out->path);
	return r < 0 ? err_set(err, r, "cannot remove \"%.150s\": %s", out->path, strerror(-r)) : 0;
}

static bool is_whole_day(const struct change *c)
{
	int64_t start = c->file->number * STORE_DAY_NS;

	return c->del && !c->del->n_matchers && c->del->start_ns <= start &&
	       c->del->end_ns >= start + STORE_DAY_NS;
}

/* Changes one file and reports it to @fn, unless nothing of it was selected. */
static int change_file(struct change *c, store_file_fn fn, void *ctx, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	struct store_file out = { .tenant = c->file->tenant,
				  .path = path,
				  .start_ns = c->file->number * STORE_DAY_NS,
				  .old_bytes = c->file->bytes };
	struct day_rewrite done = { 0 };
	struct err why = { 0 };
	int r = manifest_load(&c->manifest, c->dir, c->file->tenant, err);

	day_files_path(c->dir, c->file->tenant, c->file->number, path);
	if (r < 0)
		return r;
	if (is_whole_day(c)) {
		r = remove_day(c, &out, err);
		return r < 0 ? r : fn(ctx, &out);
	}
	r = day_rewrite(path, c->file->number, c->del, c->del ? before_deletion : NULL, c, &done,
			&why);
	if (r < 0)
		return err_set(err, r == -EBADMSG ? -EUCLEAN : r,
			       "cannot rewrite \"%.100s\": %.100s", path,
			       why.msg[0] ? why.msg : strerror(-r));
	out.n_windows = done.n_windows;
	out.n_deleted = done.n_deleted;
	out.bytes = day_files_bytes(path);
	return c->del && !done.n_deleted ? 0 : fn(ctx, &out);
}

static bool is_in_range(const struct day_file *f, const struct store_deletion *del)
{
	int64_t start = f->number * STORE_DAY_NS;

	return !del || (start < del->end_ns && start + STORE_DAY_NS > del->start_ns);
}

static int change_files(const char *dir, const struct store_deletion *del, store_file_fn fn,
			void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 }, tenants = { 0 };
	_cleanup_(closep) int lock = -1;
	int r = day_list_tenants(dir, &tenants, err);

	if (r == 0)
		r = durable_lock(dir, false, &lock, err);
	if (r == 0)
		r = day_list(dir, del ? del->tenant : NULL, &files, err);
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		_cleanup_(change_fini) struct change c = { .dir = dir,
							   .file = &files.data[i],
							   .del = del };

		if (is_in_range(&files.data[i], del) &&
		    (!files.data[i].is_lost || is_whole_day(&c)))
			r = change_file(&c, fn, ctx, err);
	}
	return r;
}

int sqlite_files_compact(const char *dir, store_file_fn fn, void *ctx, struct err *err)
{
	return change_files(dir, NULL, fn, ctx, err);
}

int sqlite_files_delete(const char *dir, const struct store_deletion *del, store_file_fn fn,
			void *ctx, struct err *err)
{
	return change_files(dir, del, fn, ctx, err);
}
