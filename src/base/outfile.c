/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { NAMES_MAX = 100 };

struct outfile {
	int fd;
	char *path;      /* NULL: standard output */
	char *temp;      /* the name until the commit, or NULL */
	bool is_unnamed; /* neither this nor temp: written in place (a device, a pipe) */
};

/*
 * The environment is set by sudo, but any user can set it for a program that root starts, so it
 * must be a complete number.
 */
static bool id_from_env(const char *name, unsigned int *out)
{
	const char *value = getenv(name);
	char rest;

	return value && sscanf(value, "%u%c", out, &rest) == 1;
}

int outfile_give_to_sudo_user(struct outfile *f, struct err *err)
{
	unsigned int uid, gid;
	int r;

	if (geteuid() != 0 || !id_from_env("SUDO_UID", &uid) || !id_from_env("SUDO_GID", &gid))
		return 0;
	r = outfile_chown(f, uid, gid);
	return r < 0 ? err_set(err, r, "cannot change the owner of \"%.100s\": %s", f->path,
			       strerror(-r))
		     : 0;
}

void outfile_free(struct outfile *f)
{
	if (!f)
		return;
	if (f->temp)
		unlink(f->temp);
	if (f->fd > STDERR_FILENO)
		close(f->fd);
	free(f->temp);
	free(f->path);
	free(f);
}

/* A file that is not a regular one (/dev/null, a pipe) is written to, not replaced. */
static int open_special(struct outfile *f)
{
	f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

/* Creates a file without a name; give_name() links it later, by its path in /proc. */
static int open_unnamed(struct outfile *f)
{
	const char *slash = strrchr(f->path, '/');
	_cleanup_(freep) char *dir =
		slash ? strndup(f->path, (size_t)(slash - f->path) + 1) : strdup(".");

	if (!dir)
		return -ENOMEM;
	if (access("/proc/self/fd", X_OK) < 0)
		return -errno;
	f->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return -errno;
	f->is_unnamed = true;
	return 0;
}

static int open_temp(struct outfile *f)
{
	const char *slash = strrchr(f->path, '/');
	int dir_len = slash ? (int)(slash - f->path) + 1 : 0;
	mode_t mask = umask(0);

	umask(mask);
	if (asprintf(&f->temp, "%.*s.%s.XXXXXX", dir_len, f->path, f->path + dir_len) < 0) {
		f->temp = NULL;
		return -ENOMEM;
	}
	f->fd = mkostemp(f->temp, O_CLOEXEC);
	if (f->fd < 0) {
		int r = -errno;

		free(f->temp);
		f->temp = NULL;
		return r;
	}
	return fchmod(f->fd, 0666 & ~mask) < 0 ? -errno : 0;
}

int outfile_open(struct outfile **out, const char *path, struct err *err)
{
	_cleanup_(outfile_freep) struct outfile *f = calloc(1, sizeof(*f));
	struct stat st;
	int r;

	if (!f)
		return -ENOMEM;
	f->fd = STDOUT_FILENO;
	if (strcmp(path, "-") != 0) {
		f->path = strdup(path);
		if (!f->path)
			return -ENOMEM;
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			r = -EISDIR;
		else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
			r = open_special(f);
		else if (open_unnamed(f) == 0)
			r = 0;
		else
			r = open_temp(f);
		if (r < 0)
			return err_set(err, r, "cannot write \"%.150s\": %s", path, strerror(-r));
	}
	*out = steal_ptr(&f);
	return 0;
}

int outfile_chown(struct outfile *f, uid_t uid, gid_t gid)
{
	int r = 0;

	/* the kernel may not link a file of another user for a program without capabilities */
	if (f->is_unnamed) {
		close(f->fd);
		f->is_unnamed = false;
		r = open_temp(f);
	}
	if (r < 0 || !f->temp)
		return r;
	return fchown(f->fd, uid, gid) < 0 ? -errno : 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int link_to(const struct outfile *f, const char *path)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/*
 * Gives the file its name. link() does not replace an existing file, so the file then gets a
 * temporary name first, which is renamed.
 */
static int give_name(struct outfile *f)
{
	const char *slash = strrchr(f->path, '/');
	int dir_len = slash ? (int)(slash - f->path) + 1 : 0;
	int r = link_to(f, f->path);

	for (int i = 0; r == -EEXIST && i < NAMES_MAX; i++) {
		uint32_t n;

		if (getrandom(&n, sizeof(n), 0) != sizeof(n))
			return -errno;
		free(f->temp);
		f->temp = NULL;
		if (asprintf(&f->temp, "%.*s.%s.%08x", dir_len, f->path, f->path + dir_len, n) <
		    0) {
			f->temp = NULL;
			return -ENOMEM;
		}
		r = link_to(f, f->temp);
	}
	if (r == 0)
		return 0;
	free(f->temp);
	f->temp = NULL;
	return r;
}

int outfile_commit(struct outfile *f, const void *data, size_t len, struct err *err)
{
	int r = write_all(f->fd, data, len);

	if (r == 0 && f->is_unnamed)
		r = give_name(f);
	if (r == 0 && f->temp && rename(f->temp, f->path) < 0)
		r = -errno;
	if (r < 0)
		return err_set(err, r, "cannot write \"%.150s\": %s",
			       f->path ? f->path : "standard output", strerror(-r));
	free(f->temp);
	f->temp = NULL;
	return 0;
}
