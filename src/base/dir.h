/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Directories that hold files of this program only: caches, queues on disk, output. */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/vec.h"

struct err;

struct dir_file {
	struct timespec mtime;
	uint64_t bytes; /* size */
	bool is_ahead;  /* modified before the clock was set back */
	char name[256]; /* without the directory */
};

struct dir_files {
	VEC(struct dir_file);
};

/**
 * dir_open_private() - open a directory, creating it and its parents
 *
 * The directory must belong to the effective user and must not be writable by anybody else,
 * who could replace files in it. New directories get mode 0700.
 *
 * Return: a descriptor, which the caller closes; -EPERM if somebody else may write to the
 * directory; another -errno. @err names the directory and the reason.
 */
int dir_open_private(const char *path, struct err *err);

/*
 * Appends to @out the regular files in @fd whose names start with @prefix and end with @suffix,
 * least recently modified first, ties by name. Files that were modified more than a minute after
 * now come before all others: the clock was set back after that. Symbolic links are not followed.
 * Returns 0 or -errno; the caller frees @out in either case.
 */
int dir_list(int fd, const char *prefix, const char *suffix, struct dir_files *out);

static inline void dir_files_fini(struct dir_files *f)
{
	vec_fini(f);
}
