/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

/*
 * A larger difference between a file's time and this machine's clock is not explained by the clock
 * of a file server.
 */
enum { SKEW_S = 60 };

static int check_owner(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot stat \"%.100s\": %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "directory \"%.100s\" belongs to another user", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(
			err, -EPERM,
			"directory \"%.100s\" is writable by other users: run chmod go-w on it",
			path);
	return 0;
}

/* Like `mkdir -p`. Errors are ignored, as opening the directory reports them. */
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

int dir_open_private(const char *path, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	int r;

	make_path(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot open directory \"%.100s\": %s", path,
			       strerror(errno));
	r = check_owner(fd, path, err);
	return r < 0 ? r : steal_fd(&fd);
}

static bool matches(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(name), before = strlen(prefix), after = strlen(suffix);

	return len >= before + after && len < sizeof(((struct dir_file *)NULL)->name) &&
	       !strncmp(name, prefix, before) && !strcmp(name + len - after, suffix);
}

static int older_first(const void *a, const void *b)
{
	const struct dir_file *x = a, *y = b;

	if (x->is_ahead != y->is_ahead)
		return x->is_ahead ? -1 : 1;
	if (x->mtime.tv_sec != y->mtime.tv_sec)
		return x->mtime.tv_sec < y->mtime.tv_sec ? -1 : 1;
	if (x->mtime.tv_nsec != y->mtime.tv_nsec)
		return x->mtime.tv_nsec < y->mtime.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

int dir_list(int fd, const char *prefix, const char *suffix, struct dir_files *out)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	time_t now_s = time(NULL);
	_cleanup_(closedirp) DIR *dir = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	if (!dir) {
		r = -errno;
		closep(&own);
		return r;
	}
	while (r == 0 && (e = readdir(dir))) {
		struct dir_file f;
		struct stat st;

		if (!matches(e->d_name, prefix, suffix) ||
		    fstatat(own, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		f.mtime = st.st_mtim;
		f.is_ahead = st.st_mtim.tv_sec > now_s + SKEW_S;
		f.bytes = (uint64_t)st.st_size;
		snprintf(f.name, sizeof(f.name), "%s", e->d_name);
		r = vec_push(out, f);
	}
	if (out->len)
		qsort(out->data, out->len, sizeof(*out->data), older_first);
	return r;
}
