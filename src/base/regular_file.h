/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The only way to open a file that a profiled program chose: by mapping it, by naming it in another
 * file, or by putting it where Cameo looks. Opening a device, a FIFO, a socket or a terminal may
 * have effects or block, so a path is first opened with O_PATH, which has neither, and only a
 * regular file is then opened for reading. Files whose contents the kernel makes (those of /proc,
 * /sys and the like) look like regular files, but reading one may block, consume what it returns
 * (/proc/kmsg) or reveal the memory of the kernel, so they are refused as well.
 * scripts/check-opens enforces the use of this module.
 *
 * A file system whose server does not respond blocks whoever opens a file there, even against
 * SIGKILL. A program that must not wait sets another function with regular_file_set_opener(), which
 * works in a process that may hang (opener/opener.h). Functions here may be called by any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct regular_file_query {
	const char *path;
	int root;        /* as for regular_file_open_in(); -1: as this process sees the path */
	bool nofollow;   /* with a root: the last component must not be a symbolic link */
	bool is_of_proc; /* the caller chose the path of a file of /proc: it is not refused */
	/* A file that cannot be opened in time is charged to these (roles/pool.h); 0: nothing. */
	uint64_t payers[2];
	uint64_t user;   /* on whose behalf (proc/user.h); 0: root's or the operator's */
	size_t copy_max; /* maximum size in bytes of a file that must be copied; 0: 64 MiB */
};

struct regular_file_info {
	struct stat st;         /* of the file, also if the descriptor is of a copy */
	unsigned long fs_magic; /* of its file system (linux/magic.h); 0 if unknown */
	bool is_copy;           /* the descriptor is of a memory file with the same contents */
};

/**
 * regular_file_find() - open a file
 *
 * Return: a descriptor owned by the caller, with @out filled in; -ENOENT if the path does not
 * exist, is not a regular file or is one whose contents the kernel makes; -ELOOP for a link despite
 * nofollow; -ETIMEDOUT if its file system did not respond in time, or did not recently; -EFBIG for
 * more than copy_max; -errno.
 */
int regular_file_find(const struct regular_file_query *q, struct regular_file_info *out);

/*
 * Fills in the device, the inode, the size and the time of change of an open file, as the kernel
 * knows them. Returns 0 or -errno. Unlike fstat(), it sends no request to the server of a file
 * system, which may not respond.
 */
int regular_file_stat(int fd, struct stat *out);

/* Does what regular_file_find() does, but in this process. */
int regular_file_find_here(const struct regular_file_query *q, struct regular_file_info *out);

typedef int (*regular_file_fn)(void *ctx, const struct regular_file_query *q,
			       struct regular_file_info *out);

/* Replaces what regular_file_find() does; NULL restores it. Call it while no other thread opens. */
void regular_file_set_opener(regular_file_fn fn, void *ctx);

/**
 * regular_file_open() - open a path as this process sees it
 *
 * Follows links, among them those of /proc/PID/map_files and /proc/PID/root: whether the file is
 * the intended one must be decided from @out_st (may be NULL).
 *
 * Return: a descriptor owned by the caller; -ENOENT if the path does not exist or is not a regular
 * file; -errno.
 */
int regular_file_open(const char *path, struct stat *out_st);

/**
 * regular_file_open_in() - open a path inside a root directory
 *
 * Symbolic links and ".." do not lead out of @root, and links of /proc are not followed. With
 * @nofollow, the last component must not be a symbolic link. @user: as in a query.
 *
 * Return: as regular_file_open(); -ELOOP for a link despite @nofollow.
 */
int regular_file_open_in(int root, const char *path, bool nofollow, uint64_t user);
