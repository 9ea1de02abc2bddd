/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of credentials that the administrator has named: a token or USER:PASSWORD on one line, or a
 * private key. Errors name the file, never its content. Pure functions, any thread.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { SECRET_FILE_MAX = 16384 };

/*
 * Opens a file that nobody but its owner and its group may access. Returns a descriptor, which the
 * caller closes; -EINVAL if it is not a regular file; -EACCES if other users may read or write it;
 * -errno; each with the reason.
 */
int secret_file_open(const char *path, struct err *err);

/*
 * Reads the only line of the open file @fd; white space at its end is ignored. @path is for errors.
 * Returns 0; -EINVAL for anything but one line; -errno.
 */
int secret_file_read(int fd, const char *path, char out[SECRET_FILE_MAX], struct err *err);

/*
 * Appends the header Authorization with a NUL: USER:PASSWORD if @is_basic, otherwise a bearer
 * token. Errors stick to @out.
 */
void secret_file_header(const char *secret, bool is_basic, struct buf *out);
