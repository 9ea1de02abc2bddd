/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/durable.h"
#include "store/sqlite/manifest.h"

enum { TENANT_PATH_LEN = DAY_FILES_PATH_LEN + STORE_TENANT_MAX + 2 };

/* Copies all pages in one step, so that they are of one state, and flushes them. */
static int copy_pages(const char *from, const char *to, struct err *err)
{
	_cleanup_(db_closep) struct sqlite3 *in = NULL, *out = NULL;
	struct sqlite3_backup *b;
	int r = db_open(&in, from, DB_READ, err), rc;

	if (r < 0)
		return r;
	r = db_open_copy(&out, to, in, err);
	if (r < 0)
		return r;
	b = sqlite3_backup_init(out, "main", in, "main");
	if (!b)
		return db_error(out, sqlite3_errcode(out), err);
	rc = sqlite3_backup_step(b, -1);
	sqlite3_backup_finish(b);
	if (rc != SQLITE_DONE)
		return db_error(rc == SQLITE_BUSY ? in : out, rc, err);
	return 0;
}

/* Copies a day and records the copy in the new manifest. */
static int copy_day(const char *from, const char *to, const struct day_file *f,
		    struct manifest *old, struct manifest *new, struct store_file *out,
		    struct err *err)
{
	char target[DAY_FILES_PATH_LEN];
	struct day_check have;
	int r;

	day_files_path(to, f->tenant, f->number, target);
	r = copy_pages(out->path, target, err);
	if (r == 0)
		r = day_check(target, f->number, &have, err);
	if (r == 0)
		r = manifest_check(old, f->number, &have.identity, err);
	if (r == 0)
		r = manifest_record(old, f->number, &have.identity, have.n_windows, err);
	if (r == 0)
		r = manifest_record(new, f->number, &have.identity, have.n_windows, err);
	if (r == 0)
		out->bytes = day_files_bytes(target);
	out->n_windows = have.n_windows;
	return r;
}

/*
 * True if retention removed the file while it was copied, together with its line in the manifest.
 */
static bool was_removed(const char *from, const struct day_file *f)
{
	_cleanup_(manifest_fini) struct manifest m = { 0 };
	char path[DAY_FILES_PATH_LEN];

	day_files_path(from, f->tenant, f->number, path);
	return access(path, F_OK) < 0 && manifest_load(&m, from, f->tenant, NULL) == 0 &&
	       manifest_check(&m, f->number, NULL, NULL) == 0;
}

static int copy_tenant(const char *from, const char *to, const char *tenant, store_file_fn fn,
		       void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	_cleanup_(manifest_fini) struct manifest old = { 0 }, new = { 0 };
	char path[DAY_FILES_PATH_LEN], dir[TENANT_PATH_LEN];
	int r = manifest_load(&old, from, tenant, err);

	snprintf(new.tenant, sizeof(new.tenant), "%s", tenant);
	snprintf(dir, sizeof(dir), "%s/%s", to, tenant);
	if (r == 0)
		r = day_list(from, tenant, &files, err);
	if (r == 0)
		r = durable_mkdir(dir, err);
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		struct store_file out = { .tenant = tenant,
					  .path = path,
					  .start_ns = files.data[i].number * STORE_DAY_NS };
		struct err why = { 0 };

		day_files_path(from, tenant, files.data[i].number, path);
		r = files.data[i].is_lost
			    ? manifest_check(&old, files.data[i].number, NULL, &why)
			    : copy_day(from, to, &files.data[i], &old, &new, &out, &why);
		if (r < 0 && was_removed(from, &files.data[i]))
			r = day_files_unlink(to, tenant, files.data[i].number);
		else if (r < 0)
			r = err_set(err, r == -EBADMSG ? -EUCLEAN : r,
				    "cannot copy \"%.100s\": %.110s", path,
				    why.msg[0] ? why.msg : strerror(-r));
		else
			r = fn(ctx, &out);
	}
	return r < 0 ? r : manifest_save(&new, to, err);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int sqlite_copy_check(const char *dir, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];

	snprintf(path, sizeof(path), "%s/" SQLITE_COPY_STAGING, dir);
	if (access(path, F_OK) < 0)
		return 0;
	return err_set(err, -EUCLEAN,
		       "\"%.100s\" is incomplete: a backup or restore was interrupted; empty it "
		       "and try again",
		       dir);
}

static int check_empty(const char *dir, struct err *err)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	const struct dirent *e;
	int r = sqlite_copy_check(dir, err);

	while (r == 0 && d && (e = readdir(d)))
		if (!day_files_is_no_entry(e->d_name))
			r = err_set(err, -ENOTEMPTY, "\"%.150s\" is not empty", dir);
	return r;
}

/*
 * Moves the tenants out of the staging directory. A process that ends before it has removed that
 * leaves a directory that no server opens.
 */
static int publish(const char *staging, const char *to, const struct day_files *tenants,
		   struct err *err)
{
	char a[TENANT_PATH_LEN], b[TENANT_PATH_LEN];
	int r = 0;

	for (size_t i = 0; r == 0 && i < tenants->len; i++) {
		snprintf(a, sizeof(a), "%s/%s", staging, tenants->data[i].tenant);
		snprintf(b, sizeof(b), "%s/%s", to, tenants->data[i].tenant);
		r = durable_rename(a, b, err);
	}
	for (size_t i = 0; r < 0 && i < tenants->len; i++) {
		snprintf(b, sizeof(b), "%s/%s", to, tenants->data[i].tenant);
		remove_tree(b);
	}
	if (r == 0 && rmdir(staging) < 0)
		r = err_set(err, -errno, "cannot remove \"%.150s\": %s", staging, strerror(errno));
	return r < 0 ? r : durable_sync(to);
}

int sqlite_copy(const char *from, const char *to, store_file_fn fn, void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files tenants = { 0 };
	bool exists = access(to, F_OK) == 0;
	_cleanup_(closep) int lock = -1;
	char staging[DAY_FILES_PATH_LEN];
	int r = sqlite_copy_check(from, err);

	if (r == 0)
		r = day_list_tenants(from, &tenants, err);
	if (r == 0 && exists)
		r = check_empty(to, err);
	if (r == 0)
		r = durable_lock(to, true, &lock, err);
	if (r < 0)
		return r;
	snprintf(staging, sizeof(staging), "%s/" SQLITE_COPY_STAGING, to);
	r = durable_mkdir(staging, err);
	for (size_t i = 0; r == 0 && i < tenants.len; i++)
		r = copy_tenant(from, staging, tenants.data[i].tenant, fn, ctx, err);
	if (r == 0)
		r = publish(staging, to, &tenants, err);
	if (r < 0) {
		remove_tree(staging);
		if (!exists)
			rmdir(to);
	}
	return r;
}
