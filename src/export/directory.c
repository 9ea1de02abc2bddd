/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one pprof file per window and profile type with all processes; the labels of a series
 * become labels of its samples. Files are created atomically and named after the start of their
 * window. The oldest are removed beyond the limits of size and age; other files in the directory
 * are not touched.
 *
 * The directory must not be writable for others (dir_open_private()), because names of files are
 * predictable. A file system that hangs only blocks this sink's thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/outfile.h"
#include "codec/common/gzip.h"
#include "codec/pprof/pprof.h"
#include "export/sink.h"
#include "export/window.h"
#include "profile/profile.h"

#define PREFIX "cameo-"
#define SUFFIX ".pb.gz"

enum { LABELS_MAX = 64, TWINS_MAX = 1000 };

static const uint64_t DIR_BYTES = 1ULL << 30;
static const int64_t DIR_AGE_NS = 86400LL * CLOCK_SECOND_NS;

struct directory {
	char *path;
	int fd;
	uint64_t max_bytes;
	int64_t max_age_ns;
};

static void directory_free(void *sink)
{
	struct directory *d = sink;

	if (!d)
		return;
	closep(&d->fd);
	free(d->path);
	free(d);
}

/* Removes temporary files of a process that was killed while writing. */
static void remove_unfinished(struct directory *d)
{
	struct dir_files files = { 0 };

	if (dir_list(d->fd, "." PREFIX, "", &files) == 0)
		for (size_t i = 0; i < files.len; i++)
			unlinkat(d->fd, files.data[i].name, 0);
	dir_files_fini(&files);
}

static int directory_open(void **out, const struct export_sink_options *opt,
			  const struct sink_setup *setup, struct err *err)
{
	struct directory *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->max_bytes = opt->dir_bytes ? opt->dir_bytes : DIR_BYTES;
	d->max_age_ns = opt->dir_age_ns ? opt->dir_age_ns : DIR_AGE_NS;
	d->path = strdup(opt->url);
	d->fd = d->path ? dir_open_private(d->path, err) : -ENOMEM;
	if (d->fd < 0) {
		r = d->fd;
		directory_free(d);
		return r == -ENOMEM ? r : -EINVAL;
	}
	remove_unfinished(d);
	*out = d;
	return 0;
}

static int add_series(struct profile *to, const struct export_series *s)
{
	struct profile_text_label labels[LABELS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n_labels && n < LABELS_MAX; i++) {
		const struct export_label *l = &s->labels[i];

		if (l->value[0] && strncmp(l->name, "__", 2) != 0)
			labels[n++] = (struct profile_text_label){ l->name, l->value };
	}
	return profile_merge_with_labels(to, s->profile, labels, n);
}

/* Series of one __name__ have the same sample types. */
static const char *name_of(const struct export_series *s)
{
	const char *name = export_label(s, "__name__");

	return name ? name : "";
}

/*
 * Profiles of all processes become one file, because users open files one by one; labels
 * distinguish the processes.
 */
static int encode_name(const struct export_window *w, const char *name, sink_emit_fn emit,
		       void *ctx)
{
	_cleanup_(profile_freep) struct profile *all = NULL;
	_cleanup_(buf_fini) struct buf body = { 0 };
	uint32_t n = 0;
	int r = profile_new(&all);

	for (size_t i = 0; r == 0 && i < w->series.len; i++) {
		if (strcmp(name_of(&w->series.data[i]), name) != 0)
			continue;
		r = add_series(all, &w->series.data[i]);
		n++;
	}
	if (r < 0 || !profile_n_samples(all))
		return r;
	profile_meta(all)->time_ns = w->start_ns;
	profile_meta(all)->duration_ns = w->end_ns - w->start_ns;
	r = pprof_write_gz(all, &body, NULL);
	return r < 0 ? r : emit(ctx, &body, n);
}

static bool is_first_of_name(const struct export_window *w, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(name_of(&w->series.data[i]), name_of(&w->series.data[at])))
			return false;
	return true;
}

static int directory_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->series.len; i++)
		if (is_first_of_name(w, i))
			r = encode_name(w, name_of(&w->series.data[i]), emit, ctx);
	return r;
}

/* Finds an unused path: a clock that was set back would give the same name twice. */
static int new_path(const struct directory *d, int64_t time_ns, char *out, size_t len)
{
	time_t s = (time_t)(time_ns / CLOCK_SECOND_NS);
	char when[32], twin[16] = "";
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm))
		return -EOVERFLOW;
	for (int i = 1; i < TWINS_MAX; i++) {
		int n = snprintf(out, len, "%s/" PREFIX "%s.%03dZ%s" SUFFIX, d->path, when,
				 (int)(time_ns / CLOCK_MS_NS % 1000), twin);

		if (n < 0 || (size_t)n >= len)
			return -ENAMETOOLONG;
		if (access(out, F_OK) < 0)
			return 0;
		snprintf(twin, sizeof(twin), "-%d", i);
	}
	return -EEXIST;
}

/*
 * Ages are those of modification times. The newest file is never removed, even if it alone exceeds
 * the limit.
 */
static void trim(const struct directory *d)
{
	struct dir_files files = { 0 };
	uint64_t bytes = 0;
	int64_t now = (int64_t)clock_unix_ns();

	if (dir_list(d->fd, PREFIX, SUFFIX, &files) < 0)
		files.len = 0;
	for (size_t i = 0; i < files.len; i++)
		bytes += files.data[i].bytes;
	for (size_t i = 0; i + 1 < files.len; i++) {
		const struct dir_file *f = &files.data[i];
		int64_t age = now - (f->mtime.tv_sec * CLOCK_SECOND_NS + f->mtime.tv_nsec);

		if (bytes <= d->max_bytes && age <= d->max_age_ns)
			continue;
		if (unlinkat(d->fd, f->name, 0) == 0)
			bytes -= f->bytes;
	}
	dir_files_fini(&files);
}

/* A full disk is retried: trim() may free space meanwhile. */
static void directory_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	struct directory *d = sink;
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	struct err err = { 0 };
	char path[4096];
	int r = new_path(d, item->time_ns, path, sizeof(path));

	if (r == 0)
		r = outfile_open(&f, path, &err);
	if (r == 0)
		r = outfile_commit(f, item->body.data, item->body.len, &err);
	trim(d);
	if (r < 0)
		sink_end(out, SINK_LATER, "%s", err.msg[0] ? err.msg : strerror(-r));
	else
		out->verdict = SINK_DONE;
}

/* Writes to a file system are not cancelled. */
static void directory_cancel(void *sink)
{
}

const struct sink_ops sink_directory = {
	.name = "dir",
	.open = directory_open,
	.encode = directory_encode,
	.send = directory_send,
	.cancel = directory_cancel,
	.free = directory_free,
};
