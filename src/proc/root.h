/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Root directories of processes, which differ between mount namespaces and chroots. */
#include <stdbool.h>

/* Returns an O_PATH descriptor of the root of @pid, for openat() and similar calls, or -errno. */
int proc_root_open(int pid);

/* Returns true if both descriptors show the same files: one directory in one mount. */
bool proc_root_same(int fd_a, int fd_b);
