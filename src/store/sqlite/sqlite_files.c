/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/day_check.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/manifest.h"

/* What @m records of the day must be what the file is. */
static int compare(struct manifest *m, const struct day_file *f, const struct day_check *have,
		   struct err *err)
{
	int r = manifest_check(m, f->number, &have->identity, err);

	return r < 0 ? r : manifest_record(m, f->number, &have->identity, have->n_windows, err);
}

/*
 * Checks one file with its line in the manifest, which is read first: a server may add windows
 * meanwhile, and the line has a minimum. Returns as day_check(), or -EUCLEAN.
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
