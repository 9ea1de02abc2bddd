/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file belongs to the day in its name, so retention and queries choose files without opening
 * them. SQLite keeps a write-ahead log (-wal) and an index of it (-shm) next to each file.
 */
#include "store/sqlite/day_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "store/store.h"

static const char *const suffixes[] = { "", "-wal", "-shm" };

void day_files_fini(struct day_files *f)
{
	vec_fini(f);
}

void day_files_date(int64_t number, char out[DAY_FILES_DATE_LEN])
{
	time_t t = (time_t)(number * 86400);
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(out, DAY_FILES_DATE_LEN, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday);
}

void day_files_path(const char *dir, const char *tenant, int64_t number, char *out)
{
	char date[DAY_FILES_DATE_LEN];

	day_files_date(number, date);
	snprintf(out, DAY_FILES_PATH_LEN, "%s/%s/%s.db", dir, tenant, date);
}

/*
 * A date that does not exist is refused: timegm() would accept it as another day, whose file would
 * then be listed twice.
 */
int64_t day_files_day(const char *name)
{
	char date[DAY_FILES_DATE_LEN], same[DAY_FILES_DATE_LEN + 4];
	struct tm tm = { 0 };
	int64_t number;

	if (sscanf(name, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	number = timegm(&tm) / 86400;
	day_files_date(number, date);
	snprintf(same, sizeof(same), "%s.db", date);
	return strcmp(name, same) == 0 ? number : -1;
}

int day_files_check_dir(const char *dir, struct err *err)
{
	const int max = DAY_FILES_PATH_LEN - DAY_FILES_BELOW_DIR;

	if (strlen(dir) <= (size_t)max)
		return 0;
	return err_set(err, -ENAMETOOLONG, "path of the store is longer than %d bytes", max);
}

uint64_t day_files_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

int64_t day_files_index_len(const char *path)
{
	char index[DAY_FILES_PATH_LEN + 8];
	struct stat st;

	snprintf(index, sizeof(index), "%s-shm", path);
	return stat(index, &st) < 0 ? -errno : st.st_size;
}

bool day_files_is_no_entry(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lost+found");
}

/* Includes the write-ahead log; its index (-shm) is small and disappears with it. */
static uint64_t day_bytes(const char *dir, const char *tenant, int64_t number)
{
	char path[DAY_FILES_PATH_LEN + 8], day[DAY_FILES_PATH_LEN];
	uint64_t bytes;

	day_files_path(dir, tenant, number, day);
	bytes = day_files_bytes(day);
	snprintf(path, sizeof(path), "%s-wal", day);
	return bytes + day_files_bytes(path);
}

static int cmp_file(const void *a, const void *b)
{
	const struct day_file *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->tenant, y->tenant);
}

void day_files_sort(struct day_files *files)
{
	if (files->len)
		qsort(files->data, files->len, sizeof(*files->data), cmp_file);
}

int day_files_list_tenant(const char *dir, const char *tenant, struct day_files *out)
{
	_cleanup_(closedirp) DIR *d = NULL;
	char path[DAY_FILES_PATH_LEN];
	const struct dirent *e;
	int r = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, tenant);
	d = opendir(path);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (r == 0 && (e = readdir(d))) {
		struct day_file f = { .number = day_files_day(e->d_name) };

		if (f.number < 0)
			continue;
		snprintf(f.tenant, sizeof(f.tenant), "%s", tenant);
		r = vec_push(out, f);
	}
	day_files_sort(out);
	return r;
}

/*
 * A file that does not exist is as good as one with zeros. The time of the last change of the inode
 * is included, because a program that copies files can set all other times.
 */
static uint64_t stamp_file(const char *path, uint64_t seed, int64_t *io_changed_ns)
{
	struct stat st = { 0 };
	int r = stat(path, &st);
	const uint64_t words[] = { (uint64_t)(r == 0),
				   st.st_dev,
				   st.st_ino,
				   (uint64_t)st.st_size,
				   (uint64_t)st.st_mtim.tv_sec,
				   (uint64_t)st.st_mtim.tv_nsec,
				   (uint64_t)st.st_ctim.tv_sec,
				   (uint64_t)st.st_ctim.tv_nsec };
	int64_t changed_ns = st.st_ctim.tv_sec * (int64_t)CLOCK_SECOND_NS + st.st_ctim.tv_nsec;

	if (io_changed_ns && changed_ns > *io_changed_ns)
		*io_changed_ns = changed_ns;
	return XXH3_64bits_withSeed(words, sizeof(words), seed);
}

static uint64_t stamp_day(const char *path, uint64_t seed, int64_t *io_changed_ns)
{
	char log[DAY_FILES_PATH_LEN + 8];

	snprintf(log, sizeof(log), "%s-wal", path);
	return stamp_file(log, stamp_file(path, seed, io_changed_ns), io_changed_ns);
}

uint64_t day_files_stamp_day(const char *path, int64_t *io_changed_ns)
{
	uint64_t stamp = stamp_day(path, 0, io_changed_ns);

	return stamp ? stamp : 1;
}

uint64_t day_files_stamp(const char *dir, const char *tenant, int64_t first, int64_t last,
			 int64_t *io_changed_ns)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	uint64_t stamp = (uint64_t)day_files_list_tenant(dir, tenant, &files);
	char path[DAY_FILES_PATH_LEN];

	for (size_t i = 0; i < files.len; i++) {
		if (files.data[i].number < first || files.data[i].number > last)
			continue;
		day_files_path(dir, tenant, files.data[i].number, path);
		stamp = stamp_day(path, stamp, io_changed_ns);
	}
	return stamp ? stamp : 1;
}

int day_files_list(const char *dir, struct day_files *out)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	const struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while (r == 0 && (e = readdir(d)))
		if (store_tenant_valid(e->d_name))
			r = day_files_list_tenant(dir, e->d_name, out);
	for (size_t i = 0; i < out->len; i++)
		out->data[i].bytes = day_bytes(dir, out->data[i].tenant, out->data[i].number);
	day_files_sort(out);
	return r;
}

int day_files_unlink(const char *dir, const char *tenant, int64_t number)
{
	char path[DAY_FILES_PATH_LEN], part[DAY_FILES_PATH_LEN + 8];

	day_files_path(dir, tenant, number, path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(part, sizeof(part), "%s%s", path, suffixes[i]);
		if (unlink(part) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
