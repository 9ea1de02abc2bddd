/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Opens a path in another process's root directory. Both the path and the
 * files along it may be controlled by an attacker.
 */

/**
 * open_in_root() - open a regular file for reading, inside a root directory
 *
 * Symbolic links and ".." do not lead out of @root, and the call does not block
 * on a FIFO or device. With @nofollow, the last component must not be a
 * symbolic link.
 *
 * Return: a descriptor owned by the caller; -ENOENT if the path does not exist
 * or is not a regular file; -ELOOP for a link despite @nofollow; -errno.
 */
int open_in_root(int root, const char *path, bool nofollow);
