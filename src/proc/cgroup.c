/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Opens the directory @path if it belongs to a cgroup file system. Returns a descriptor or
 * -errno.
 */
static int open_cgroup(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) == 0 &&
	    (fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC))
		return fd;
	close(fd);
	return -ENOENT;
}

static bool is_hierarchy(const struct mntent *m)
{
	return !strcmp(m->mnt_type, "cgroup2") ||
	       (!strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "perf_event"));
}

int cgroup_open(const char *name)
{
	char text[4 * PATH_MAX], path[PATH_MAX];
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	int fd = -ENOENT;

	while (fd < 0 && mounts && getmntent_r(mounts, &m, text, sizeof(text)))
		if (is_hierarchy(&m) &&
		    snprintf(path, sizeof(path), "%s/%s", m.mnt_dir, name) < PATH_MAX)
			fd = open_cgroup(path);
	if (mounts)
		endmntent(mounts);
	return fd < 0 && name[0] == '/' ? open_cgroup(name) : fd;
}

bool cgroup_is_unified(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}
