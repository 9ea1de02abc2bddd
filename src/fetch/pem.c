/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "fetch/secret_file.h"
#include "roles/memfd.h"

enum { PEM_MAX = 4 << 20 };

/* Copies a file into a sealed memory file. Returns its descriptor or -errno. */
static int copy_file(int fd, const struct stat *st)
{
	struct role_memfd m = { .fd = -1 };
	size_t at = 0;
	int r, sealed;

	if (!S_ISREG(st->st_mode) || !st->st_size || st->st_size > PEM_MAX)
		return -EINVAL;
	r = role_memfd_new(&m, (size_t)st->st_size);
	while (r == 0 && at < m.len) {
		ssize_t n = pread(fd, (char *)m.data + at, m.len - at, (off_t)at);

		if (n <= 0)
			r = n < 0 ? -errno : -EIO;
		else
			at += (size_t)n;
	}
	if (r < 0 && m.fd < 0)
		return r;
	sealed = role_memfd_seal(&m);
	if (r < 0)
		closep(&sealed);
	return r < 0 ? r : sealed;
}

/*
 * Tools that renew certificates replace the file (another inode) or rewrite it (another size or
 * time). A change of the mode may give other users access.
 */
static bool is_unchanged(const struct pem *p, const struct stat *st)
{
	return p->fd >= 0 && p->st.st_dev == st->st_dev && p->st.st_ino == st->st_ino &&
	       p->st.st_mode == st->st_mode && p->st.st_size == st->st_size &&
	       p->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       p->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* O_NONBLOCK: a named pipe must not block the thread. */
static int open_file(const struct pem *p, struct err *err)
{
	int fd = p->is_secret ? secret_file_open(p->path, err)
			      : open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 && !p->is_secret ? -errno : fd;
}

int pem_refresh(struct pem *p, struct err *err)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int r;

	if (!p->path || (stat(p->path, &st) == 0 && is_unchanged(p, &st)))
		return 0;
	fd = open_file(p, err);
	r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : copy_file(fd, &st);
	if (r < 0)
		return err_set(err, r, "cannot read \"%.150s\": %s", p->path, strerror(-r));
	closep(&p->fd);
	p->fd = r;
	p->st = st;
	return 0;
}

static int open_pem(struct pem *p, const char *path, bool is_secret, struct err *err)
{
	int r;

	*p = PEM_NONE;
	p->is_secret = is_secret;
	if (!path)
		return 0;
	p->path = strdup(path);
	if (!p->path)
		return -ENOMEM;
	r = pem_refresh(p, err);
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

int pem_open(struct pem *p, const char *path, struct err *err)
{
	return open_pem(p, path, false, err);
}

int pem_open_secret(struct pem *p, const char *path, struct err *err)
{
	return open_pem(p, path, true, err);
}

void pem_close(struct pem *p)
{
	free(p->path);
	closep(&p->fd);
	*p = PEM_NONE;
}
