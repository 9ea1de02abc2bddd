/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much is there is counted once, when the first file is kept, and again
 * whenever that and what was added since exceed the limit; then old files go
 * until a tenth of it is free, so that not every new file means a count.
 *
 * A file system without O_TMPFILE keeps nothing.
 */
#include "symbol/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"

struct cache_dir {
	int fd;
	char suffix[16];
	uint64_t max_bytes;
	bool counted;
	uint64_t bytes; /* at the last count, and added since */
};

struct entry {
	struct timespec used;
	uint64_t bytes;
	char name[256];
};

struct entries {
	VEC(struct entry);
};

static void entries_fini(struct entries *e)
{
	vec_fini(e);
}

static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "can't look at %.100s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "%.100s belongs to another user", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, -EPERM, "%.100s can be written to by others", path);
	return 0;
}

/* As `mkdir -p`; what can't be made can't be opened either. */
static void make_path(const char *path)
{
	char part[PATH_MAX];

	if (snprintf(part, sizeof(part), "%s", path) >= PATH_MAX)
		return;
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, 0700);
		*slash = '/';
	}
	(void)mkdir(part, 0700);
}

int cache_dir_open(struct cache_dir **out, const struct cache_dir_opts *opts, struct err *err)
{
	_cleanup_(cache_dir_freep) struct cache_dir *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	c->max_bytes = opts->max_bytes;
	snprintf(c->suffix, sizeof(c->suffix), "%s", opts->suffix);
	make_path(opts->path);
	c->fd = open(opts->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd < 0)
		return err_set(err, -errno, "can't open %.100s: %s", opts->path, strerror(errno));
	r = check_owner(c->fd, opts->path, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&c);
	return 0;
}

void cache_dir_free(struct cache_dir *c)
{
	if (!c)
		return;
	closep(&c->fd);
	free(c);
}

int cache_dir_get(struct cache_dir *c, const char *name)
{
	_cleanup_(closep) int fd =
		openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	(void)futimens(fd, NULL);
	return steal_fd(&fd);
}

int cache_dir_unnamed(struct cache_dir *c)
{
	int fd = openat(c->fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static bool is_counted(const struct cache_dir *c, const char *name)
{
	size_t len = strlen(name), n = strlen(c->suffix);

	return len > n && len < sizeof(((struct entry *)NULL)->name) &&
	       !strcmp(name + len - n, c->suffix);
}

static int older_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* All files of ours, the one used longest ago first, and the sum of their sizes. */
static int count(struct cache_dir *c, struct entries *out)
{
	int fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	_cleanup_(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		r = -errno;
		closep(&fd);
		return r;
	}
	c->bytes = 0;
	while (r == 0 && (e = readdir(dir))) {
		struct entry entry;
		struct stat st;

		if (!is_counted(c, e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		entry.used = st.st_mtim;
		entry.bytes = (uint64_t)st.st_size;
		snprintf(entry.name, sizeof(entry.name), "%s", e->d_name);
		c->bytes += entry.bytes;
		r = vec_push(out, entry);
	}
	if (out->len)
		qsort(out->data, out->len, sizeof(*out->data), older_first);
	return r;
}

static void obey_limit(struct cache_dir *c)
{
	_cleanup_(entries_fini) struct entries all = { 0 };
	uint64_t wanted = c->max_bytes - c->max_bytes / 10;

	if (c->counted && c->bytes <= c->max_bytes)
		return;
	if (count(c, &all) < 0)
		return;
	c->counted = true;
	if (c->bytes <= c->max_bytes)
		return;
	for (size_t i = 0; i < all.len && c->bytes > wanted; i++)
		if (unlinkat(c->fd, all.data[i].name, 0) == 0)
			c->bytes -= all.data[i].bytes;
}

int cache_dir_keep(struct cache_dir *c, int fd, const char *name)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || linkat(AT_FDCWD, path, c->fd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	c->bytes += (uint64_t)st.st_size;
	obey_limit(c);
	return 0;
}

void cache_dir_remove(struct cache_dir *c, const char *name)
{
	(void)unlinkat(c->fd, name, 0);
}
