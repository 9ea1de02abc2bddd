/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Opening a path as a process sees it, where the path or the file may be made to deceive. */

/**
 * rootfile_open() - open a regular file for reading, inside a root directory
 *
 * No symbolic link and no ".." leads out of @root, nothing blocks, and the
 * file's last component is no link if @nofollow.
 *
 * Return: a descriptor, or -errno (-ENOENT for what is not a regular file).
 */
int rootfile_open(int root, const char *path, bool nofollow);
