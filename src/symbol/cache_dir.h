/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A size-limited directory of files that can be made again, such as sorted
 * symbol tables and downloaded debug files. The least recently used files are
 * removed first. A file appears under its name only when it is complete.
 * Several processes may use the same directory; one struct belongs to one
 * thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct cache_dir;
struct err;

struct cache_dir_opts {
	const char *path;
	const char *suffix; /* Only files with this suffix are counted and removed. */
	uint64_t max_bytes; /* limit on the total size of these files */
};

/**
 * cache_dir_open() - open a cache directory, creating it and its parents
 *
 * The directory must belong to this user and be writable by this user only,
 * since another user could otherwise put any content under any name. @opts is
 * not retained.
 *
 * Return: 0; -EPERM if another user owns the directory or can write to it; -errno.
 */
int cache_dir_open(struct cache_dir **out, const struct cache_dir_opts *opts, struct err *err);
void cache_dir_free(struct cache_dir *c);

DEFINE_FREEP(struct cache_dir, cache_dir_free)

/* Opens a regular file for reading and marks it as used now. Returns its descriptor or -errno. */
int cache_dir_get(struct cache_dir *c, const char *name);

/* Creates a file without a name, for writing. Returns its descriptor or -errno. */
int cache_dir_create_unnamed(struct cache_dir *c);

/*
 * Links the file @fd, from cache_dir_create_unnamed(), to @name and enforces the size limit. An
 * existing file is not replaced. Returns 0, -EEXIST or -errno; @fd remains the caller's.
 */
int cache_dir_publish(struct cache_dir *c, int fd, const char *name);

void cache_dir_remove(struct cache_dir *c, const char *name);
