/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only regular files with an ELF header, found inside the root, are given out:
 * a name in a stranger's file cannot make us wait on a fifo or hand /etc/shadow
 * to a child that parses for it.
 *
 * Whether the content fits is checked here for the separate debug file (build
 * id, or the CRC of .gnu_debuglink); split units are checked by their reader.
 */
#include "symbol/debugfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/sigbus.h"
#include "elf/image.h"
#include "proc/root.h"
#include "symbol/rootfile.h"

enum { PATH_CAP = 4096 + 512 };

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

int debugfile_open_at(int root, const char *path)
{
	int fd = rootfile_open(root, path, false);

	if (fd < 0)
		return fd;
	if (is_elf(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

struct check {
	int fd;
	const struct elf_build_id *want;
};

static int check_build_id(void *ctx)
{
	struct check *c = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_build_id id;
	int r;

	r = elf_image_open(&img, c->fd, NULL);
	if (r < 0)
		return r;
	elf_note_gnu_build_id(img, &id);
	return id.len == c->want->len && !memcmp(id.bytes, c->want->bytes, id.len) ? 0 : -ENOENT;
}

bool debugfile_check(int fd, const struct elf_build_id *id)
{
	struct check c = { fd, id };

	return sigbus_run(check_build_id, &c) == 0;
}

static bool has_crc(int fd, uint32_t want)
{
	unsigned char piece[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	off_t off = 0;
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), off)) > 0) {
		crc = crc32(crc, piece, (uInt)n);
		off += n;
	}
	return n == 0 && crc == want;
}

/* Give @fd out if @ok, else close it. */
static int keep_if(int fd, bool ok)
{
	if (fd < 0 || ok)
		return fd;
	close(fd);
	return -ENOENT;
}

int debugfile_open_checked(int root, const char *path, const struct elf_build_id *id)
{
	int fd = debugfile_open_at(root, path);

	return keep_if(fd, fd >= 0 && debugfile_check(fd, id));
}

/* /usr/lib/debug/.build-id/ab/cdef.debug in @root. */
int debugfile_open_by_id(int root, const struct elf_build_id *id)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1], path[PATH_CAP];

	if (id->len < 2 || id->len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	elf_build_id_hex(id, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return debugfile_open_checked(root, path, id);
}

static int dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* The three places that gdb documents for a .gnu_debuglink. */
static int open_by_link(int root, const struct debugfile_of *of)
{
	static const char *const forms[][2] = {
		{ "", "" },
		{ "", "/.debug" },
		{ "/usr/lib/debug", "" },
	};
	char path[PATH_CAP];

	if (!of->link || !*of->link || strchr(of->link, '/') || strlen(of->path) >= 4096)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s%.*s%s/%s", forms[i][0], dir_len(of->path),
			 of->path, forms[i][1], of->link);
		fd = debugfile_open_at(root, path);
		fd = keep_if(fd, fd >= 0 && has_crc(fd, of->link_crc));
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* The roots to try, the process's first; the same one is not tried twice. */
static int roots_of(const struct debugfile_roots *r, int out[2])
{
	int n = 0;

	if (r->process >= 0)
		out[n++] = r->process;
	if (r->host >= 0 && !(n && proc_root_same(r->process, r->host)))
		out[n++] = r->host;
	return n;
}

int debugfile_open(const struct debugfile_of *of)
{
	int roots[2], n = roots_of(&of->roots, roots);

	for (int i = 0; i < n; i++) {
		int fd = debugfile_open_by_id(roots[i], &of->build_id);

		if (fd < 0)
			fd = open_by_link(roots[i], of);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* @path in each root, first that opens. */
static int open_in_any(const struct debugfile_of *of, const char *path)
{
	int roots[2], n = roots_of(&of->roots, roots);

	for (int i = 0; i < n; i++) {
		int fd = debugfile_open_at(roots[i], path);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* @name beside the executable, or below /usr/lib/debug beside where its debug file would be. */
static int open_relative(const struct debugfile_of *of, const char *name)
{
	char path[PATH_CAP];
	int fd, n;

	if (strlen(of->path) + strlen(name) >= 4096)
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s/%s", dir_len(of->path), of->path, name);
	fd = open_in_any(of, path);
	if (fd >= 0)
		return fd;
	n = snprintf(path, sizeof(path), "/usr/lib/debug%.*s/%s", dir_len(of->path), of->path,
		     name);
	return n < PATH_CAP ? open_in_any(of, path) : -ENAMETOOLONG;
}

int debugfile_open_alt(const struct debugfile_of *of, const char *name, const uint8_t *id,
		       size_t id_len)
{
	struct elf_build_id build_id = { 0 };
	int roots[2], n = roots_of(&of->roots, roots), fd;

	if (id_len && id_len <= ELF_BUILD_ID_MAX) {
		build_id.len = (uint8_t)id_len;
		memcpy(build_id.bytes, id, id_len);
	}
	fd = name[0] == '/' ? open_in_any(of, name) : open_relative(of, name);
	fd = keep_if(fd, fd >= 0 && (!build_id.len || debugfile_check(fd, &build_id)));
	for (int i = 0; fd < 0 && i < n; i++)
		fd = debugfile_open_by_id(roots[i], &build_id);
	if (fd < 0 && !strncmp(name, "../", 3)) {
		/* Relative to /usr/lib/debug/.build-id/xx/: "../../.dwz/...". */
		char path[PATH_CAP];

		if (snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/00/%s", name) < PATH_CAP)
			fd = open_in_any(of, path);
		fd = keep_if(fd, fd >= 0 && (!build_id.len || debugfile_check(fd, &build_id)));
	}
	return fd;
}

int debugfile_open_dwo(const struct debugfile_of *of, const char *name, const char *dir)
{
	char path[PATH_CAP];
	const char *base = strrchr(name, '/');
	int fd;

	if (name[0] == '/')
		fd = open_in_any(of, name);
	else if (snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_CAP)
		fd = open_in_any(of, path);
	else
		fd = -ENAMETOOLONG;
	/* Built elsewhere and moved here together. */
	return fd >= 0 ? fd : open_relative(of, base ? base + 1 : name);
}

int debugfile_open_dwp(const struct debugfile_of *of)
{
	char path[PATH_CAP];

	if (!*of->path || snprintf(path, sizeof(path), "%s.dwp", of->path) >= PATH_CAP)
		return -ENOENT;
	return open_in_any(of, path);
}
