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

int proc_root_open(int pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool get_identity(int fd, struct statx *st)
{
	return statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, st) == 0;
}

bool proc_root_same(int fd_a, int fd_b)
{
	struct statx a, b;

	return get_identity(fd_a, &a) && get_identity(fd_b, &b) && a.stx_ino == b.stx_ino &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor &&
	       a.stx_mnt_id == b.stx_mnt_id;
}
