/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The only way to open a file that a profiled program chose: by mapping it, by naming it in another
 * file, or by putting it where Cameo looks. Opening a device, a FIFO, a socket or a terminal may
 * have effects or block, so a path is first opened with O_PATH, which has neither, and only a
 * regular file is then opened for reading. scripts/check-opens enforces the use of this module.
 */
#include <stdbool.h>

struct stat;

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
 * @nofollow, the last component must not be a symbolic link.
 *
 * Return: as regular_file_open(); -ELOOP for a link despite @nofollow.
 */
int regular_file_open_in(int root, const char *path, bool nofollow);

/* Does regular_file_open() for a descriptor that was opened with O_PATH, and which stays open. */
int regular_file_reopen(int path_fd, struct stat *out_st);
