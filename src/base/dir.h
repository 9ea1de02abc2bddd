/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Directories that hold files of ours: caches, queues on disk, output. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/vec.h"

struct err;

struct dir_file {
	struct timespec mtime;
	uint64_t bytes;
	char name[256];
};

struct dir_files {
	VEC(struct dir_file);
};

/**
 * dir_open_own() - open a directory, make it and what leads to it
 *
 * It must belong to this user, and nobody else may write to it: others could
 * put anything under any name.
 *
 * Return: a descriptor; -EPERM for a directory that is not ours alone; -errno.
 */
int dir_open_own(const char *path, struct err *err);

/*
 * The regular files whose names begin and end so, the one changed longest ago
 * first; those of the same moment by name. 0 or -errno.
 */
int dir_list(int fd, const char *prefix, const char *suffix, struct dir_files *out);

static inline void dir_files_fini(struct dir_files *f)
{
	vec_fini(f);
}
