/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path is changed by its descriptor, after its type was seen. Nobody but root can rename what is
 * in a directory of root, so a directory is changed after what it holds.
 */
#include "store/sqlite/sqlite_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_list.h"
#include "store/sqlite/durable.h"

struct owner {
	uid_t uid;
	gid_t gid;
};

static int give_file(int dir, const char *name, const struct owner *o)
{
	_cleanup_(closep) int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : durable_give_fd(fd, o->uid, o->gid);
}

static int give_tenant(int dir, const char *tenant, const struct owner *o)
{
	_cleanup_(closep) int fd =
		openat(dir, tenant, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	fd = -1; /* closed with d */
	while (r == 0 && (e = readdir(d)))
		if (!day_files_is_no_entry(e->d_name) &&
		    (e->d_type == DT_REG || e->d_type == DT_UNKNOWN))
			r = give_file(dirfd(d), e->d_name, o);
	return r < 0 ? r : durable_give_fd(dirfd(d), o->uid, o->gid);
}

static bool has_tenant(const struct day_files *tenants, const char *name)
{
	for (size_t i = 0; i < tenants->len; i++)
		if (!strcmp(tenants->data[i].tenant, name))
			return true;
	return false;
}

/* Root's directories in which other programs have files stay root's. */
static int check_entries(const char *dir, const struct day_files *tenants, struct err *err)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (!day_files_is_no_entry(e->d_name) && !has_tenant(tenants, e->d_name))
			return err_set(err, -EEXIST,
				       "\"%.100s\" holds other files, such as \"%.60s\"", dir,
				       e->d_name);
	return 0;
}

int sqlite_owner_give(const char *dir, uid_t uid, gid_t gid, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files tenants = { 0 };
	const struct owner o = { uid, gid };
	_cleanup_(closep) int fd = -1; /* holds the lock */
	const char *at = dir;
	int r = durable_lock(dir, true, &fd, err);

	if (r < 0)
		return r;
	r = day_list_tenants(dir, &tenants, err);
	if (r == -EINVAL)
		return -EEXIST;
	if (r == 0)
		r = check_entries(dir, &tenants, err);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < tenants.len; i++) {
		at = tenants.data[i].tenant;
		r = give_tenant(fd, at, &o);
	}
	if (r == 0)
		r = durable_give_fd(fd, uid, gid);
	return r < 0 ? err_set(err, r, "cannot change the owner of \"%.100s\": %s", at,
			       strerror(-r))
		     : 0;
}
