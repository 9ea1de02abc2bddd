/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/day_files.h"

int durable_sync(const char *dir)
{
	_cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int durable_sync_parent(const char *path)
{
	char copy[DAY_FILES_PATH_LEN];

	snprintf(copy, sizeof(copy), "%s", path);
	return durable_sync(dirname(copy));
}

int durable_give_fd(int fd, uid_t uid, gid_t gid)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != 0 || (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && st.st_nlink == 1)))
		return 0;
	return fchown(fd, uid, gid) < 0 ? -errno : 0;
}

int durable_own(const char *path)
{
	char copy[DAY_FILES_PATH_LEN];
	_cleanup_(closep) int fd = -1;
	struct stat dir;
	int r;

	snprintf(copy, sizeof(copy), "%s", path);
	if (geteuid() != 0)
		return 0;
	if (stat(dirname(copy), &dir) < 0)
		return -errno;
	if (dir.st_uid == 0)
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r = fd < 0 ? -errno : durable_give_fd(fd, dir.st_uid, dir.st_gid);
	return r == -EPERM ? 0 : r;
}

static int make_dir(const char *path)
{
	if (mkdir(path, 0750) == 0)
		return durable_own(path);
	return errno == EEXIST ? 0 : -errno;
}

int durable_mkdir(const char *path, struct err *err)
{
	int r = make_dir(path);

	if (r < 0)
		return err_set(err, r, "cannot create \"%.150s\": %s", path, strerror(-r));
	r = durable_sync_parent(path);
	/*
	 * A directory in which this user may not list names has not been created by this program.
	 */
	if (r == -EACCES || r == -EPERM)
		return 0;
	return r < 0 ? err_set(err, r, "cannot flush the directory of \"%.150s\": %s", path,
			       strerror(-r))
		     : 0;
}

int durable_rename(const char *from, const char *to, struct err *err)
{
	int r = rename(from, to) < 0 ? -errno : durable_sync_parent(to);

	return r < 0 ? err_set(err, r, "cannot rename \"%.100s\" to \"%.100s\": %s", from, to,
			       strerror(-r))
		     : 0;
}

static int lock(int fd, const char *dir, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_set(err, -errno, "cannot lock \"%.150s\": %s", dir, strerror(errno));
	return err_set(err, -EBUSY, "store \"%.120s\" is in use by another process", dir);
}

/*
 * Earlier versions locked a file DIR/lock, which a running one may still do. The file goes away, as
 * "lock" is a valid name of a tenant.
 */
static int lock_old_file(const char *dir, struct err *err)
{
	char path[DAY_FILES_PATH_LEN];
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r;

	snprintf(path, sizeof(path), "%s/lock", dir);
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size)
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? 0 : lock(fd, dir, err);
	if (r == 0)
		unlink(path);
	return r;
}

int durable_lock(const char *dir, bool create, int *out_fd, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	int r;

	r = day_files_check_dir(dir, err);
	if (r == 0 && create)
		r = durable_mkdir(dir, err);
	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot open \"%.150s\": %s", dir, strerror(errno));
	r = lock(fd, dir, err);
	if (r == 0)
		r = lock_old_file(dir, err);
	if (r < 0)
		return r;
	*out_fd = steal_fd(&fd);
	return 0;
}

/* File systems without locks have no server that writes to them. */
int durable_check_unlocked(const char *dir, struct err *err)
{
	_cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "cannot open \"%.150s\": %s", dir, strerror(errno));
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	return err_set(err, -EBUSY,
		       "store \"%.100s\" is in use by a process that writes to it: serve a copy "
		       "(cameo store backup)",
		       dir);
}
