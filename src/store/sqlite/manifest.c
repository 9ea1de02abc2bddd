/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is "YYYY-MM-DD IDENTITY WINDOWS CHECKSUM", the latter of the text before it. The file is
 * replaced as a whole. It is small: a line per day of retention.
 */
#include "store/sqlite/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/durable.h"

enum {
	LINE_LEN = 160,
	DATE_LEN = 10,
	HEX_LEN = 2 * DB_IDENTITY_LEN,
};

void manifest_fini(struct manifest *m)
{
	vec_fini(m);
}

static void path_of(const char *dir, const char *tenant, const char *name, char *out)
{
	snprintf(out, DAY_FILES_PATH_LEN, "%s/%s/%s", dir, tenant, name);
}

static void put_line(const struct manifest_entry *e, struct buf *out)
{
	size_t begin = out->len;
	char date[DAY_FILES_DATE_LEN];

	day_files_date(e->day, date);
	buf_printf(out, "%s ", date);
	for (size_t i = 0; i < DB_IDENTITY_LEN; i++)
		buf_printf(out, "%02x", e->identity.bytes[i]);
	buf_printf(out, " %" PRIu64 " ", e->n_windows);
	if (!buf_error(out))
		buf_printf(out, "%016" PRIx64 "\n",
			   (uint64_t)XXH3_64bits(out->data + begin, out->len - begin));
}

static int read_line(const char *line, struct manifest_entry *out)
{
	const char *sum = strrchr(line, ' ');
	_cleanup_(buf_fini) struct buf identity = { 0 };
	char date[DATE_LEN + 4];
	uint64_t stored;

	if (!sum || strlen(line) < DATE_LEN + HEX_LEN + 4 ||
	    sscanf(sum, " %" SCNx64, &stored) != 1 ||
	    stored != XXH3_64bits(line, (size_t)(sum + 1 - line)))
		return -EBADMSG;
	snprintf(date, sizeof(date), "%.10s.db", line);
	out->day = day_files_day(date);
	if (out->day < 0 || hex_decode(line + DATE_LEN + 1, HEX_LEN, &identity) < 0)
		return -EBADMSG;
	memcpy(out->identity.bytes, identity.data, DB_IDENTITY_LEN);
	return sscanf(line + DATE_LEN + 1 + HEX_LEN, "%" SCNu64, &out->n_windows) == 1 ? 0
										       : -EBADMSG;
}

int manifest_load(struct manifest *m, const char *dir, const char *tenant, struct err *err)
{
	_cleanup_(fclosep) FILE *f = NULL;
	char path[DAY_FILES_PATH_LEN], line[LINE_LEN];
	int r = 0, wrong = 0;

	snprintf(m->tenant, sizeof(m->tenant), "%s", tenant);
	path_of(dir, tenant, "manifest", path);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : err_set(err, -errno, "cannot open \"%.150s\": %s", path,
					 strerror(errno));
	while (r == 0 && fgets(line, sizeof(line), f)) {
		struct manifest_entry e;

		line[strcspn(line, "\n")] = 0;
		if (read_line(line, &e) < 0)
			wrong++;
		else
			r = vec_push(m, e);
	}
	if (r == 0 && wrong)
		return err_set(err, -EBADMSG, "\"%.150s\": %d lines are damaged", path, wrong);
	return r;
}

static int write_file(const char *path, const struct buf *text)
{
	_cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	ssize_t n = fd < 0 ? -1 : write(fd, text->data, text->len);

	if (n < 0)
		return -errno;
	if ((size_t)n != text->len)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int manifest_save(struct manifest *m, const char *dir, struct err *err)
{
	char path[DAY_FILES_PATH_LEN], new_path[DAY_FILES_PATH_LEN];
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r;

	if (!m->is_changed)
		return 0;
	for (size_t i = 0; i < m->len; i++)
		put_line(&m->data[i], &text);
	if (buf_error(&text))
		return -ENOMEM;
	path_of(dir, m->tenant, "manifest", path);
	path_of(dir, m->tenant, "manifest.new", new_path);
	r = write_file(new_path, &text);
	if (r == 0)
		r = durable_own(new_path);
	if (r == 0)
		r = durable_rename(new_path, path, NULL);
	if (r < 0) {
		unlink(new_path);
		return err_set(err, r, "cannot write \"%.150s\": %s", path, strerror(-r));
	}
	m->is_changed = false;
	return 0;
}

static bool is_same(const struct db_identity *a, const struct db_identity *b)
{
	return !memcmp(a->bytes, b->bytes, DB_IDENTITY_LEN);
}

/*
 * A file of format 1 has no identity. It gets one when it is converted, which its line may not have
 * yet, or no longer if the conversion was interrupted.
 */
static bool is_line_of(const struct manifest_entry *e, const struct db_identity *identity,
		       uint64_t n_windows)
{
	static const struct db_identity none;

	return is_same(&e->identity, identity) ||
	       (is_same(&e->identity, &none) && e->n_windows <= n_windows);
}

int manifest_record(struct manifest *m, int64_t day, const struct db_identity *identity,
		    uint64_t n_windows, struct err *err)
{
	for (size_t i = 0; i < m->len; i++) {
		struct manifest_entry *e = &m->data[i];

		if (e->day != day || !is_line_of(e, identity, n_windows))
			continue;
		m->is_changed |= !is_same(&e->identity, identity);
		e->identity = *identity;
		if (e->n_windows > n_windows)
			return err_set(err, -EUCLEAN,
				       "it has %" PRIu64 " windows, but had %" PRIu64
				       ": an older copy replaced it",
				       n_windows, e->n_windows);
		m->is_changed |= e->n_windows != n_windows;
		e->n_windows = n_windows;
		return 0;
	}
	m->is_changed = true;
	return vec_push(m, (struct manifest_entry){ day, *identity, n_windows });
}

int manifest_lower(struct manifest *m, int64_t day, const struct db_identity *identity,
		   uint64_t n_windows)
{
	for (size_t i = 0; i < m->len; i++) {
		struct manifest_entry *e = &m->data[i];

		if (e->day != day || !is_same(&e->identity, identity))
			continue;
		e->n_windows = e->n_windows < n_windows ? e->n_windows : n_windows;
		m->is_changed = true;
	}
	return manifest_record(m, day, identity, n_windows, NULL);
}

int manifest_check(const struct manifest *m, int64_t day, const struct db_identity *identity,
		   struct err *err)
{
	char date[DAY_FILES_DATE_LEN];

	for (size_t i = 0; i < m->len; i++) {
		const struct manifest_entry *e = &m->data[i];

		if (e->day != day || (identity && is_same(&e->identity, identity)))
			continue;
		day_files_date(day, date);
		return err_set(err, -EUCLEAN,
			       "%s of tenant %s: a file with %" PRIu64 " windows or more was %s",
			       date, m->tenant, e->n_windows, identity ? "replaced" : "deleted");
	}
	return 0;
}

void manifest_remove(struct manifest *m, int64_t day)
{
	size_t n = 0;

	for (size_t i = 0; i < m->len; i++)
		if (m->data[i].day != day)
			m->data[n++] = m->data[i];
	m->is_changed |= n != m->len;
	m->len = n;
}
