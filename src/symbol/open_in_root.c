/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses openat2() with RESOLVE_IN_ROOT. Where the kernel lacks it or a seccomp
 * filter forbids it, the path is walked one component at a time without
 * following any symbolic link.
 */
#include "symbol/open_in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The fallback without openat2(). Refuses symbolic links and "..". */
static int open_walk(int root, const char *path, int flags)
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
			next = openat(dir, part, O_NOFOLLOW | (last ? flags : O_PATH | O_CLOEXEC));
		}
		close(dir);
		if (last || next < 0)
			return next < 0 ? -errno : next;
		dir = next;
		path += n;
	}
	return -errno;
}

static int open_resolved(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	return errno == ENOSYS || errno == EPERM ? open_walk(root, path, flags) : -errno;
}

int open_in_root(int root, const char *path, bool nofollow)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (nofollow ? O_NOFOLLOW : 0);
	int fd = open_resolved(root, path, flags);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -ENOENT;
}
