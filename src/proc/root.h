/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Root directories of processes, which differ between mount namespaces and chroots. */
#include <stdbool.h>

/*
 * Returns an O_PATH descriptor of the root of process @pid, for openat() and similar calls, which
 * the caller closes. Another thread provides it if the main thread has ended. Returns -ESRCH if the
 * process is gone, or another -errno.
 */
int proc_root_open(int pid);

/* Returns true if both descriptors show the same files: one directory in one mount. */
bool proc_root_same(int fd_a, int fd_b);
