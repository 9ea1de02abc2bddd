/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

ssize_t proc_read_text(const char *proc, uint32_t pid, const char *name, char *out, size_t cap)
{
	_cleanup_(closep) int fd = -1;
	char path[512];
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/%s", proc, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	while (len < cap - 1 && (n = read(fd, out + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	return (ssize_t)len;
}

size_t proc_read_exe(const char *proc, uint32_t pid, char *out, size_t cap)
{
	static const char deleted[] = " (deleted)";
	char path[512];
	ssize_t n;
	size_t len;

	_Static_assert(sizeof(deleted) - 1 == PROC_DELETED_BYTES, "the size of the suffix");
	snprintf(path, sizeof(path), "%s/%u/exe", proc, pid);
	n = readlink(path, out, cap - 1);
	len = n > 0 ? (size_t)n : 0;
	out[len] = '\0';
	if (len > PROC_DELETED_BYTES && !strcmp(out + len - PROC_DELETED_BYTES, deleted))
		out[len -= PROC_DELETED_BYTES] = '\0';
	return len;
}
