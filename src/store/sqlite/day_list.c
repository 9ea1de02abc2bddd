/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/manifest.h"

static bool has_day(const struct day_files *files, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < files->len; i++)
		if (files->data[i].number == number && !strcmp(files->data[i].tenant, tenant))
			return true;
	return false;
}

int day_list_add_lost(const struct manifest *m, struct day_files *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->len; i++) {
		struct day_file f = { .number = m->data[i].day, .is_lost = true };

		snprintf(f.tenant, sizeof(f.tenant), "%s", m->tenant);
		if (!has_day(out, m->tenant, f.number))
			r = vec_push(out, f);
	}
	day_files_sort(out);
	return r;
}

/* Lines that are damaged are skipped. */
static int add_lost(const char *dir, const char *tenant, struct day_files *out)
{
	_cleanup_(manifest_fini) struct manifest m = { 0 };
	int r = manifest_load(&m, dir, tenant, NULL);

	return r < 0 && r != -EBADMSG ? r : day_list_add_lost(&m, out);
}

static int list(const char *dir, const char *tenant, struct day_files *out)
{
	_cleanup_(day_files_fini) struct day_files all = { 0 };
	_cleanup_(closedirp) DIR *d = tenant ? NULL : opendir(dir);
	const struct dirent *e;
	int r = day_files_list(dir, &all);

	for (size_t i = 0; r == 0 && i < all.len; i++)
		if (!tenant || !strcmp(tenant, all.data[i].tenant))
			r = vec_push(out, all.data[i]);
	if (r == 0 && tenant)
		r = add_lost(dir, tenant, out);
	while (r == 0 && d && (e = readdir(d)))
		if (store_tenant_valid(e->d_name))
			r = add_lost(dir, e->d_name, out);
	day_files_sort(out);
	return r;
}

int day_list(const char *dir, const char *tenant, struct day_files *out, struct err *err)
{
	int r = list(dir, tenant, out);

	return r < 0 ? err_set(err, r, "cannot list \"%.150s\": %s", dir, strerror(-r)) : 0;
}

/*
 * A directory of a tenant has a manifest or the file of a day. Returns 1 or 0, or -EACCES for one
 * that cannot be read.
 */
static int is_tenant(const char *dir, const char *name, struct err *err)
{
	_cleanup_(closedirp) DIR *d = NULL;
	char path[DAY_FILES_PATH_LEN];
	const struct dirent *e;

	if (!store_tenant_valid(name))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	d = opendir(path);
	if (!d && errno == EACCES)
		return err_set(err, -EACCES, "cannot open \"%.150s\": %s", path, strerror(EACCES));
	while (d && (e = readdir(d)))
		if (!strcmp(e->d_name, "manifest") || day_files_day(e->d_name) >= 0)
			return 1;
	return 0;
}

int day_list_tenants(const char *dir, struct day_files *out, struct err *err)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	bool has_others = false;
	const struct dirent *e;
	int r;

	if (!d)
		return err_set(err, -errno, "cannot open \"%.150s\": %s", dir, strerror(errno));
	r = day_files_check_dir(dir, err);
	while (r == 0 && (e = readdir(d))) {
		struct day_file f = { 0 };

		if (day_files_is_no_entry(e->d_name))
			continue;
		snprintf(f.tenant, sizeof(f.tenant), "%.*s", STORE_TENANT_MAX, e->d_name);
		r = is_tenant(dir, e->d_name, err);
		if (r > 0)
			r = vec_push(out, f);
		else if (r == 0 && strcmp(e->d_name, "lock") != 0) /* of an earlier version */
			has_others = true;
	}
	day_files_sort(out);
	if (r == 0 && has_others && !out->len)
		return err_set(err, -EINVAL, "\"%.150s\" is not a store of Cameo", dir);
	return r;
}
