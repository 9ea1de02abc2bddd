/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount namespaces may share a root directory and differ in what is mounted below it. Their
 * mounts have different ids, which distinguishes them.
 */
#include "proc/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "proc/stat.h"

static int open_by(int task)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", task);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int proc_root_open(int pid)
{
	int fd = open_by(pid), task;

	if (fd != -ENOENT)
		return fd;
	task = proc_living_thread(pid);
	return task > 0 && task != pid ? open_by(task) : -ESRCH;
}

/* Without a request to a file system that may not respond. */
static bool get_identity(int fd, struct statx *st)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, st) == 0;
}

bool proc_root_same(int fd_a, int fd_b)
{
	struct statx a, b;

	return get_identity(fd_a, &a) && get_identity(fd_b, &b) && a.stx_ino == b.stx_ino &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor &&
	       a.stx_mnt_id == b.stx_mnt_id;
}
