/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The root directories that processes see. */
#include <stdbool.h>

/* A descriptor of the root of @pid, for openat() and the like, or -errno. */
int proc_root_open(int pid);

/* Do both see the same files: is it one directory, in one mount? */
bool proc_root_same(int fd_a, int fd_b);
