/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are mapped, for they may be larger than what one would copy; pipes are
 * read to their end. A file that shrinks meanwhile is refused.
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
#include "codec/format.h"
#include "codec/limits.h"
#include "profile/profile.h"
#include "query/idle.h"
#include "server/naming.h"

enum { READ_LEN = 1 << 20 };

struct reading {
	const void *data;
	size_t len;
	const struct input_options *opt;
	struct profile *p;
	struct err *err;
};

static int read_data(void *ctx)
{
	struct reading *rd = ctx;

	if (rd->opt->from)
		return format_read_as(rd->opt->from, &rd->p, rd->data, rd->len, NULL, rd->err);
	return format_read(&rd->p, rd->data, rd->len, NULL, rd->err);
}

static int read_mapped(struct reading *rd, int fd, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	int r;

	if (map == MAP_FAILED)
		return err_set(rd->err, -errno, "can't map it: %s", strerror(errno));
	rd->data = map;
	rd->len = len;
	r = sigbus_run(read_data, rd);
	munmap(map, len);
	if (r == -EFAULT) {
		profile_free(rd->p);
		rd->p = NULL;
		return err_set(rd->err, r, "it was cut short while it was read");
	}
	return r;
}

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
			return err_set(rd->err, -errno, "can't read it: %s", strerror(errno));
		buf_put(&b, part, (size_t)n);
		if (buf_error(&b) || b.len > max.bytes)
			return err_set(rd->err, -EFBIG, "it has more than %zu bytes", max.bytes);
	}
	rd->data = b.data;
	rd->len = b.len;
	return read_data(rd);
}

static int read_url(struct reading *rd, const char *url)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = url_fetch(url, rd->opt->label, &b, rd->err);

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
	return r == -ENODATA ? err_set(rd->err, r, "the server has no samples of that then") : r;
}

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
			return err_set(rd->err, -errno, "can't open it: %s", strerror(errno));
	}
	if (fstat(fd, &st) < 0)
		return err_set(rd->err, -errno, "can't read it: %s", strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_size > 0 && fd == opened)
		return read_mapped(rd, fd, (size_t)st.st_size);
	return read_stream(rd, fd);
}

/* The innermost reason, behind the name of the file. */
static int tell(struct err *err, const char *path, int r, const struct err *why)
{
	return err_set(err, r, "%.100s: %s", strcmp(path, "-") ? path : "standard input",
		       why->msg[0] ? why->msg : strerror(-r));
}

static int read_one(struct profile **out, const char *path, const struct input_options *opt,
		    struct err *err)
{
	struct err why = { 0 };
	struct reading rd = { .opt = opt, .err = &why };
	int r = read_file(&rd, path);

	if (r < 0)
		return tell(err, path, r, &why);
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

/* Addresses alone say nothing to people: a profile without any name gets those that are here. */
static int name_places(struct profile *p, struct err *err)
{
	const struct naming_options opt = { .by_path = true };
	_cleanup_(naming_freep) struct naming *n = NULL;
	int r = 0;

	if (profile_n_functions(p) || !profile_n_mappings(p))
		return 0;
	r = naming_new(&n, &opt);
	if (r == 0)
		r = naming_apply(n, p);
	return r < 0 ? err_set(err, r, "no memory to name its places") : 0;
}

/* @p becomes what is left of it. */
static int hide_idle(struct profile **p, struct err *err)
{
	struct profile *left;
	struct idle_sum sum;
	int r = idle_leave_out(&left, *p, &sum);

	if (r < 0)
		return err_set(err, r, "no memory to leave out what is idle");
	profile_free(*p);
	*p = left;
	if (sum.has_waits)
		fprintf(stderr,
			"cameo: --hide-idle left out %.3f s of %.3f s off the CPU (%.1f %%): waits "
			"of threads with nothing to do\n",
			(double)sum.hidden / 1e9, (double)sum.all / 1e9,
			text_percent(sum.hidden, sum.all));
	else
		fprintf(stderr, "cameo: --hide-idle left out nothing: there is no sample type "
				"off_cpu\n");
	return 0;
}

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
			err_set(err, r, "%.80s: %s %.80s", paths[i],
				r == -EINVAL ? "its sample types are not those of"
					     : "no memory to merge it with",
				paths[0]);
	}
	if (r == 0)
		r = name_places(sum, err);
	if (r == 0 && opt->hide_idle)
		r = hide_idle(&sum, err);
	if (r == 0)
		*out = steal_ptr(&sum);
	return r;
}
