/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading a file that the administrator has named: keys, certificates, configuration. Files of
 * other programs are opened by base/regular_file.h.
 */
#include <stddef.h>

struct buf;
struct err;

/*
 * Appends the file @path to @out, and wipes the buffer that it reads with, since the file may be a
 * key. Returns 0, -EFBIG for more than @max bytes (a multiple of 1024), -ENOMEM or another -errno,
 * with the reason in @err. After an error @out holds a part of the file.
 */
int file_contents(const char *path, size_t max, struct buf *out, struct err *err);
