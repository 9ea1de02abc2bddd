/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of the directory is counted when the first file is published, and
 * again whenever that count plus the files added since exceed the limit. Old
 * files are then removed until a tenth of the limit is free, so that the
 * directory is not listed again for every new file.
 *
 * New files are created with O_TMPFILE and linked when complete. On a file
 * system without O_TMPFILE, nothing is cached.
 */
#include "symbol/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"

struct cache_dir {
	int fd;
	char suffix[16];
	uint64_t max_bytes;
	bool counted;   /* The directory has been listed at least once. */
	uint64_t bytes; /* total at the last count plus the files added since */
};

int cache_dir_open(struct cache_dir **out, const struct cache_dir_opts *opts, struct err *err)
{
	_cleanup_(cache_dir_freep) struct cache_dir *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	c->max_bytes = opts->max_bytes;
	snprintf(c->suffix, sizeof(c->suffix), "%s", opts->suffix);
	c->fd = dir_open_private(opts->path, err);
	if (c->fd < 0)
		return c->fd;
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

int cache_dir_create_unnamed(struct cache_dir *c)
{
	int fd = openat(c->fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static void obey_limit(struct cache_dir *c)
{
	_cleanup_(dir_files_fini) struct dir_files all = { 0 };
	uint64_t goal = c->max_bytes - c->max_bytes / 10;

	if (c->counted && c->bytes <= c->max_bytes)
		return;
	if (dir_list(c->fd, "", c->suffix, &all) < 0)
		return;
	c->counted = true;
	c->bytes = 0;
	for (size_t i = 0; i < all.len; i++)
		c->bytes += all.data[i].bytes;
	if (c->bytes <= c->max_bytes)
		return;
	for (size_t i = 0; i < all.len && c->bytes > goal; i++)
		if (unlinkat(c->fd, all.data[i].name, 0) == 0)
			c->bytes -= all.data[i].bytes;
}

int cache_dir_publish(struct cache_dir *c, int fd, const char *name)
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
