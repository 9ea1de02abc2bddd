/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A directory of files that can be had again: of ours alone, no larger than a
 * limit, what was used longest ago removed first. Files appear whole or not
 * at all. Several processes may use one at the same time.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct cache_dir;
struct err;

struct cache_dir_opts {
	const char *path;
	const char *suffix; /* of the files that are counted and removed */
	uint64_t max_bytes; /* of them together */
};

/**
 * cache_dir_open() - open a cache, make it and what leads to it
 *
 * The directory must belong to this user, and nobody else may write to it:
 * others could put anything under any name.
 *
 * Return: 0; -EPERM for a directory that is not ours alone; -errno.
 */
int cache_dir_open(struct cache_dir **out, const struct cache_dir_opts *opts, struct err *err);
void cache_dir_free(struct cache_dir *c);

DEFINE_FREEP(struct cache_dir, cache_dir_free)

/* A regular file for reading, marked as used now: a descriptor, or -errno. */
int cache_dir_get(struct cache_dir *c, const char *name);

/* A file without a name to write to: a descriptor, or -errno. */
int cache_dir_unnamed(struct cache_dir *c);

/* Give it its name (never replacing) and obey the limit; 0 or -errno. */
int cache_dir_keep(struct cache_dir *c, int fd, const char *name);

void cache_dir_remove(struct cache_dir *c, const char *name);
