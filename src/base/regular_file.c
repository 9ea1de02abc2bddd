/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths inside a root directory are resolved by openat2() with RESOLVE_IN_ROOT. Where the kernel
 * lacks it or a seccomp filter forbids it, the path is walked one component at a time without
 * following any symbolic link.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
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

static struct {
	regular_file_fn fn;
	void *ctx;
} opener;

void regular_file_set_opener(regular_file_fn fn, void *ctx)
{
	opener.fn = fn;
	opener.ctx = ctx;
}

/*
 * File systems whose files have no contents of their own: the kernel makes these when somebody
 * reads. The numbers are those of configfs, mqueue, fusectl, xenfs, rpc_pipefs, nfsd and dlmfs.
 */
static const unsigned long made_by_kernel[] = {
	PROC_SUPER_MAGIC,     SYSFS_MAGIC,  DEBUGFS_MAGIC,  TRACEFS_MAGIC,      SECURITYFS_MAGIC,
	SELINUX_MAGIC,        SMACK_MAGIC,  AAFS_MAGIC,     CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
	RDTGROUP_SUPER_MAGIC, BPF_FS_MAGIC, EFIVARFS_MAGIC, PSTOREFS_MAGIC,     BINFMTFS_MAGIC,
	NSFS_MAGIC,           0x62656570,   0x19800202,     0x65735543,         0xabba1974,
	0x67596969,           0x6e667364,   0x76a9f425,
};

static bool is_made_by_kernel(unsigned long magic)
{
	for (size_t i = 0; i < sizeof(made_by_kernel) / sizeof(*made_by_kernel); i++)
		if (made_by_kernel[i] == magic)
			return true;
	return false;
}

/* Opens for reading what @path_fd, of O_PATH, refers to. */
static int reopen(const struct regular_file_query *q, int path_fd, struct regular_file_info *out)
{
	struct statfs fs;
	char path[32];
	int fd;

	*out = (struct regular_file_info){ 0 };
	if (fstat(path_fd, &out->st) < 0)
		return -errno;
	if (!S_ISREG(out->st.st_mode))
		return S_ISLNK(out->st.st_mode) ? -ELOOP : -ENOENT;
	if (fstatfs(path_fd, &fs) == 0)
		out->fs_magic = (unsigned long)fs.f_type;
	if (is_made_by_kernel(out->fs_magic) && !q->is_of_proc)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int regular_file_find_here(const struct regular_file_query *q, struct regular_file_info *out)
{
	_cleanup_(closep) int found = q->root >= 0 ? open_resolved(q->root, q->path, q->nofollow)
						   : open(q->path, O_PATH | O_CLOEXEC);

	if (found < 0)
		return q->root >= 0 ? found : -errno;
	return reopen(q, found, out);
}

int regular_file_find(const struct regular_file_query *q, struct regular_file_info *out)
{
	return opener.fn ? opener.fn(opener.ctx, q, out) : regular_file_find_here(q, out);
}

int regular_file_stat(int fd, struct stat *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE | STATX_MTIME,
		  &st) < 0)
		return -errno;
	*out = (struct stat){
		.st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.st_ino = st.stx_ino,
		.st_size = (off_t)st.stx_size,
		.st_mtim = { st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec },
	};
	return 0;
}

int regular_file_open(const char *path, struct stat *out_st)
{
	const struct regular_file_query q = { .path = path, .root = -1 };
	struct regular_file_info info;
	int fd = regular_file_find(&q, &info);

	if (fd >= 0 && out_st)
		*out_st = info.st;
	return fd;
}

int regular_file_open_in(int root, const char *path, bool nofollow, uint64_t user)
{
	const struct regular_file_query q = {
		.path = path, .root = root, .nofollow = nofollow, .user = user
	};
	struct regular_file_info unread;

	return regular_file_find(&q, &unread);
}
