/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are mapped rather than read, since they may be large; pipes are read to their end. A file
 * that shrinks while it is being decoded is refused (see base/sigbus.h).
 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sigbus.h"
#include "cli/text.h"
#include "cli/url.h"
#include "codec/common/limits.h"
#include "codec/format.h"
#include "profile/profile.h"
#include "server/ingest_symbolizer.h"
#include "tables/idle.h"

enum { READ_LEN = 1 << 20 };

struct reading {
	const void *data;
	size_t len;
	const struct input_options *opt;
	struct profile *p;
	struct err *err;
};

/* Called under sigbus_run() if the data is a mapped file. */
static int read_data(void *ctx)
{
	struct reading *rd = ctx;

	if (rd->opt->from)
		return format_read_as(rd->opt->from, &rd->p, rd->data, rd->len, NULL, rd->err);
	return format_read(&rd->p, rd->data, rd->len, NULL, rd->err);
}

/*
 * If the file shrank, the decoder read zeros in place of the missing part, so its result is
 * discarded.
 */
static int read_mapped(struct reading *rd, int fd, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	int r;

	if (map == MAP_FAILED)
		return err_set(rd->err, -errno, "cannot map the file: %s", strerror(errno));
	rd->data = map;
	rd->len = len;
	r = sigbus_run(read_data, rd);
	munmap(map, len);
	if (r == -EFAULT) {
		profile_free(rd->p);
		rd->p = NULL;
		return err_set(rd->err, r,
			       "the file was truncated while it was being read; try again");
	}
	return r;
}

/* Stops at the decoder's own limit, so an endless pipe ends with an error. */
static int read_stream(struct reading *rd, int fd)
{
	struct codec_limits max = codec_limits_default();
	_cleanup_(buf_fini) struct buf b = { 0 };
	_cleanup_(freep) char *part = malloc(READ_LEN);
	ssize_t n;

	if (!part)
		return err_set(rd->err, -ENOMEM, "out of memory");
	while ((n = read(fd, part, READ_LEN)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(rd->err, -errno, "%s", strerror(errno));
		buf_put(&b, part, (size_t)n);
		if (buf_error(&b) || b.len > max.bytes)
			return err_set(rd->err, -EFBIG, "more than %zu bytes of input", max.bytes);
	}
	rd->data = b.data;
	rd->len = b.len;
	return read_data(rd);
}

/*
 * A response without samples is an error with its own text, as an empty table would look like an
 * idle machine.
 */
static int read_url(struct reading *rd, const char *url)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = url_fetch(url, rd->opt->label, rd->opt->id, &b, rd->err);

	if (r < 0)
		return r;
	rd->data = b.data;
	rd->len = b.len;
	r = b.len ? read_data(rd) : -ENODATA;
	if (r == 0 && !profile_n_samples(rd->p)) {
		profile_free(rd->p);
		rd->p = NULL;
		r = -ENODATA;
	}
	return r == -ENODATA ? err_set(rd->err, r,
				       "the server has no samples for this query and time range")
			     : r;
}

/* Standard input is read as a stream even if it is a file, because its offset need not be 0. */
static int read_file(struct reading *rd, const char *path)
{
	_cleanup_(closep) int opened = -1;
	int fd = STDIN_FILENO;
	struct stat st;

	if (url_is(path))
		return read_url(rd, path);
	if (strcmp(path, "-") != 0) {
		fd = opened = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_set(rd->err, -errno, "%s", strerror(errno));
	}
	if (fstat(fd, &st) < 0)
		return err_set(rd->err, -errno, "%s", strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_size > 0 && fd == opened)
		return read_mapped(rd, fd, (size_t)st.st_size);
	return read_stream(rd, fd);
}

/* Reports the innermost reason together with the name of the file. */
static int fail_to_read(struct err *err, const char *path, int r, const struct err *why)
{
	const char *reason = why->msg[0] ? why->msg : strerror(-r);

	if (!strcmp(path, "-"))
		return err_set(err, r, "cannot read standard input: %s", reason);
	return err_set(err, r, "cannot read \"%.100s\": %s", path, reason);
}

static int read_one(struct profile **out, const char *path, const struct input_options *opt,
		    struct err *err)
{
	struct err why = { 0 };
	struct reading rd = { .opt = opt, .err = &why };
	int r = read_file(&rd, path);

	if (r < 0)
		return fail_to_read(err, path, r, &why);
	*out = rd.p;
	return 0;
}

const char *input_label(enum entries_by by, const char *key)
{
	return by == ENTRIES_BY_PROCESS  ? "comm"
	       : by == ENTRIES_BY_THREAD ? "thread"
	       : by == ENTRIES_BY_LABEL  ? key
					 : NULL;
}

/*
 * Symbolizes a profile without any function names from the files on this machine. Profiles of
 * gperftools have addresses only, and were usually recorded on this machine.
 */
static int symbolize_addresses(struct profile *p, struct err *err)
{
	const struct ingest_symbolizer_options opt = { .by_path = true };
	_cleanup_(ingest_symbolizer_freep) struct ingest_symbolizer *n = NULL;
	int r = 0;

	if (profile_n_functions(p) || !profile_n_mappings(p))
		return 0;
	r = ingest_symbolizer_new(&n, &opt);
	if (r == 0)
		r = ingest_symbolizer_apply(n, p, 0);
	return r < 0 ? err_set(err, r, "cannot symbolize the profile: out of memory") : 0;
}

/* Replaces *@p by a copy without idle waits, and reports how much that excluded. */
static int hide_idle(struct profile **p, struct err *err)
{
	struct profile *left;
	struct idle_sum sum;
	int r = idle_exclude(&left, *p, &sum);

	if (r < 0)
		return err_set(err, r, "out of memory");
	profile_free(*p);
	*p = left;
	if (sum.has_waits)
		fprintf(stderr,
			"cameo: --hide-idle excluded %.3f s of %.3f s off-CPU time (%.1f %%): "
			"waits of idle threads\n",
			(double)sum.hidden / 1e9, (double)sum.all / 1e9,
			text_percent(sum.hidden, sum.all));
	else
		fprintf(stderr, "cameo: --hide-idle had no effect: the profile has no sample type "
				"off_cpu\n");
	return 0;
}

/*
 * The first profile is the one that all others are merged into, so its sample types and metadata
 * apply.
 */
int input_read(struct profile **out, char *const *paths, size_t n, const struct input_options *opt,
	       struct err *err)
{
	static const struct input_options none;
	_cleanup_(profile_freep) struct profile *sum = NULL;
	int r;

	opt = opt ? opt : &none;
	r = n ? read_one(&sum, paths[0], opt, err) : -EINVAL;
	for (size_t i = 1; r == 0 && i < n; i++) {
		_cleanup_(profile_freep) struct profile *p = NULL;

		r = read_one(&p, paths[i], opt, err);
		if (r == 0)
			r = profile_merge(sum, p);
		if (r < 0)
			err_set(err, r, "cannot merge \"%.80s\" with \"%.80s\": %s", paths[i],
				paths[0], r == -EINVAL ? "different sample types" : strerror(-r));
	}
	if (r == 0)
		r = symbolize_addresses(sum, err);
	if (r == 0 && opt->hide_idle)
		r = hide_idle(&sum, err);
	if (r == 0)
		*out = steal_ptr(&sum);
	return r;
}
