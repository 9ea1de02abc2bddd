/* SPDX-License-Identifier: Apache-2.0 */
#include "store/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/store.h"

enum { MAX_ASIDE = 1000 };

static const char *const parts[] = { "", "-wal", "-shm" };

void files_fini(struct files *f)
{
	vec_fini(f);
}

bool store_tenant_valid(const char *tenant)
{
	size_t len = strlen(tenant);

	return len && len <= FILES_TENANT_MAX && strspn(tenant, ".") < len &&
	       strspn(tenant,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

void files_path(const char *dir, const char *tenant, int64_t number, char *out)
{
	time_t t = (time_t)(number * 86400);
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(out, FILES_PATH_LEN, "%s/%s/%04d-%02d-%02d.db", dir, tenant, tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday);
}

/* -1: not the name of a day's file. */
static int64_t day_of_name(const char *name)
{
	struct tm tm = { 0 };
	int end = 0;

	if (sscanf(name, "%4d-%2d-%2d.db%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &end) != 3 ||
	    end != 13 || name[end])
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm) / 86400;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t day_bytes(const char *dir, const char *tenant, int64_t number)
{
	char path[FILES_PATH_LEN + 8], day[FILES_PATH_LEN];
	uint64_t bytes;

	files_path(dir, tenant, number, day);
	bytes = file_bytes(day);
	snprintf(path, sizeof(path), "%s-wal", day);
	return bytes + file_bytes(path);
}

static int cmp_file(const void *a, const void *b)
{
	const struct day_file *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->tenant, y->tenant);
}

static void sort_files(struct files *files)
{
	if (files->len)
		qsort(files->data, files->len, sizeof(*files->data), cmp_file);
}

int files_list_tenant(const char *dir, const char *tenant, struct files *out)
{
	_cleanup_(closedirp) DIR *d = NULL;
	char path[FILES_PATH_LEN];
	const struct dirent *e;
	int r = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, tenant);
	d = opendir(path);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (r == 0 && (e = readdir(d))) {
		struct day_file f = { .number = day_of_name(e->d_name) };

		if (f.number < 0)
			continue;
		snprintf(f.tenant, sizeof(f.tenant), "%s", tenant);
		r = vec_push(out, f);
	}
	sort_files(out);
	return r;
}

int files_list(const char *dir, struct files *out)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	const struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while (r == 0 && (e = readdir(d)))
		if (store_tenant_valid(e->d_name))
			r = files_list_tenant(dir, e->d_name, out);
	for (size_t i = 0; i < out->len; i++)
		out->data[i].bytes = day_bytes(dir, out->data[i].tenant, out->data[i].number);
	sort_files(out);
	return r;
}

int files_set_aside(const char *path, const char *why, store_warn_fn warn, void *ctx)
{
	char from[FILES_PATH_LEN + 8], to[FILES_PATH_LEN + 32];
	_cleanup_(freep) char *message = NULL;
	int n = 1;

	while (n < MAX_ASIDE) {
		snprintf(to, sizeof(to), "%s.damaged-%d", path, n);
		if (access(to, F_OK) < 0)
			break;
		n++;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, parts[i]);
		snprintf(to, sizeof(to), "%s.damaged-%d%s", path, n, parts[i]);
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	if (warn &&
	    asprintf(&message, "%s: %s; set aside as %s.damaged-%d", path, why, path, n) > 0)
		warn(ctx, message);
	return 0;
}

int files_unlink(const char *dir, const char *tenant, int64_t number)
{
	char path[FILES_PATH_LEN], part[FILES_PATH_LEN + 8];

	files_path(dir, tenant, number, path);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(part, sizeof(part), "%s%s", path, parts[i]);
		if (unlink(part) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
