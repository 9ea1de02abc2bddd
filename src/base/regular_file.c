/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths inside a root directory are resolved by openat2() with RESOLVE_IN_ROOT. Where the kernel
 * lacks it or a seccomp filter forbids it, the path is walked one component at a time without
 * following any symbolic link.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The fallback without openat2(). Refuses symbolic links and "..". */
static int open_walk(int root, const char *path)
{
	char part[256];
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0), next;

	while (dir >= 0) {
		size_t n;
		bool last;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		last = !path[n];
		next = -1;
		errno = ENOENT;
		if (n && n < sizeof(part) && !(n == 2 && !memcmp(path, "..", 2))) {
			memcpy(part, path, n);
			part[n] = '\0';
			next = openat(dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		}
		close(dir);
		if (last || next < 0)
			return next < 0 ? -errno : next;
		dir = next;
		path += n;
	}
	return -errno;
}

static int open_resolved(int root, const char *path, bool nofollow)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | (nofollow ? O_NOFOLLOW : 0)),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	return errno == ENOSYS || errno == EPERM ? open_walk(root, path) : -errno;
}

int regular_file_reopen(int path_fd, struct stat *out_st)
{
	char path[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (out_st)
		*out_st = st;
	return fd;
}

int regular_file_open(const char *path, struct stat *out_st)
{
	_cleanup_(closep) int found = open(path, O_PATH | O_CLOEXEC);

	return found < 0 ? -errno : regular_file_reopen(found, out_st);
}

int regular_file_open_in(int root, const char *path, bool nofollow)
{
	_cleanup_(closep) int found = open_resolved(root, path, nofollow);

	return found < 0 ? found : regular_file_reopen(found, NULL);
}
