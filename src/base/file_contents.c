/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_contents.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

int file_contents(const char *path, size_t max, struct buf *out, struct err *err)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	size_t n, len = 0;
	char part[4096];

	if (!f)
		return err_set(err, -errno, "cannot open \"%s\": %s", path, strerror(errno));
	setvbuf(f, NULL, _IONBF, 0);
	while (len <= max && (n = fread(part, 1, sizeof(part), f)) > 0) {
		buf_put(out, part, n);
		len += n;
	}
	explicit_bzero(part, sizeof(part));
	if (ferror(f))
		return err_set(err, -EIO, "cannot read \"%s\": %s", path, strerror(EIO));
	if (len > max)
		return err_set(err, -EFBIG, "cannot read \"%s\": expected at most %zu KiB", path,
			       max / 1024);
	return buf_error(out);
}
