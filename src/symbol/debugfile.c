/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only regular files with an ELF header inside the root are opened. A name in
 * an untrusted executable can therefore neither block this process on a FIFO
 * nor make it pass /etc/shadow to the process that parses debug files.
 *
 * This module verifies that a separate debug file belongs to the executable
 * (by build id or by the CRC in .gnu_debuglink). The DWARF reader verifies the
 * DWO ids of split units.
 */
#include "symbol/debugfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/regular_file.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "proc/root.h"

enum { PATH_CAP = 4096 + 512, CRC_BYTES_MAX = 1 << 30 };

/* Anything else, such as a text file of that name, is skipped in favour of the next directory. */
static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* @user: as in struct debugfile_roots. */
static int open_elf(int root, const char *path, uint64_t user)
{
	int fd = regular_file_open_in(root, path, false, user);

	if (fd < 0)
		return fd;
	if (is_elf(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

int debugfile_open_at(int root, const char *path)
{
	return open_elf(root, path, 0);
}

struct check {
	int fd;
	const struct elf_build_id *expected;
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
	return id.len && id.len == c->expected->len && !memcmp(id.bytes, c->expected->bytes, id.len)
		       ? 0
		       : -ENOENT;
}

bool debugfile_check(int fd, const struct elf_build_id *id)
{
	struct check c = { fd, id };

	return sigbus_run(check_build_id, &c) == 0;
}

/*
 * Read in pieces rather than mapped, since debug files can be larger than the memory of the
 * machine. A file above CRC_BYTES_MAX does not match: a sparse one of 64 GB takes minutes to read.
 */
bool debugfile_has_crc(int fd, uint32_t expected)
{
	unsigned char piece[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t off = 0;
	ssize_t n = 0;

	if (fstat(fd, &st) < 0 || st.st_size > CRC_BYTES_MAX)
		return false;
	/* the file may grow meanwhile */
	while (off <= CRC_BYTES_MAX && (n = pread(fd, piece, sizeof(piece), off)) > 0) {
		crc = crc32(crc, piece, (uInt)n);
		off += n;
	}
	return n == 0 && crc == expected;
}

/* Returns @fd, or closes it and returns -ENOENT unless @ok. */
static int close_unless(int fd, bool ok)
{
	if (fd < 0 || ok)
		return fd;
	close(fd);
	return -ENOENT;
}

int debugfile_open_checked(int root, const char *path, const struct elf_build_id *id)
{
	int fd = debugfile_open_at(root, path);

	return close_unless(fd, fd >= 0 && debugfile_check(fd, id));
}

/* Writes /usr/lib/debug/.build-id/ab/cdef.debug, where abcdef is the build id. */
static int path_by_id(const struct elf_build_id *id, char *path)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	if (id->len < 2 || id->len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	elf_build_id_hex(id, hex);
	snprintf(path, PATH_CAP, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return 0;
}

int debugfile_open_by_id(int root, const struct elf_build_id *id)
{
	char path[PATH_CAP];

	return path_by_id(id, path) < 0 ? -ENOENT : debugfile_open_checked(root, path, id);
}

static int dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* The three directories that gdb documents for .gnu_debuglink: prefix and suffix of the file's. */
static const char *const link_dirs[][2] = {
	{ "", "" },
	{ "", "/.debug" },
	{ "/usr/lib/debug", "" },
};
enum { N_LINK_DIRS = sizeof(link_dirs) / sizeof(*link_dirs) };

static int path_by_link(const struct debugfile_query *query, size_t i, char *path)
{
	if (!query->link || !*query->link || strchr(query->link, '/') ||
	    strlen(query->path) >= 4096 || strlen(query->link) >= 256)
		return -ENOENT;
	snprintf(path, PATH_CAP, "%s%.*s%s/%s", link_dirs[i][0], dir_len(query->path), query->path,
		 link_dirs[i][1], query->link);
	return 0;
}

/* Writes the roots to try, the process's first, without duplicates. Returns their number. */
static int roots_of(const struct debugfile_roots *r, int out[2])
{
	int n = 0;

	if (r->process >= 0)
		out[n++] = r->process;
	if (r->host >= 0 && !(n && proc_root_same(r->process, r->host)))
		out[n++] = r->host;
	return n;
}

int debugfile_open_candidate(const struct debugfile_query *query, unsigned int i)
{
	unsigned int root = i / (1 + N_LINK_DIRS), form = i % (1 + N_LINK_DIRS);
	int roots[2], n = roots_of(&query->roots, roots), r;
	char path[PATH_CAP];

	if (root >= (unsigned int)n)
		return -ERANGE;
	r = form ? path_by_link(query, form - 1, path) : path_by_id(&query->build_id, path);
	return r < 0 ? r : open_elf(roots[root], path, query->roots.user);
}

/* Opens @path in the first root that has it. */
static int open_in_any(const struct debugfile_query *query, const char *path)
{
	int roots[2], n = roots_of(&query->roots, roots);

	for (int i = 0; i < n; i++) {
		int fd = open_elf(roots[i], path, query->roots.user);

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* Opens @name next to the executable, or in the corresponding directory of /usr/lib/debug. */
static int open_relative(const struct debugfile_query *query, const char *name)
{
	char path[PATH_CAP];
	int fd, n;

	if (strlen(query->path) + strlen(name) >= 4096)
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s/%s", dir_len(query->path), query->path, name);
	fd = open_in_any(query, path);
	if (fd >= 0)
		return fd;
	n = snprintf(path, sizeof(path), "/usr/lib/debug%.*s/%s", dir_len(query->path), query->path,
		     name);
	return n < PATH_CAP ? open_in_any(query, path) : -ENAMETOOLONG;
}

/* Names such as "../../.dwz/..." are relative to /usr/lib/debug/.build-id/xx/. */
static int open_below_build_ids(const struct debugfile_query *query, const char *name)
{
	char path[PATH_CAP];

	if (strncmp(name, "../", 3) != 0 ||
	    snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/00/%s", name) >= PATH_CAP)
		return -ENOENT;
	return open_in_any(query, path);
}

int debugfile_open_alt_candidate(const struct debugfile_query *query, const char *name,
				 unsigned int i)
{
	int roots[2], n = roots_of(&query->roots, roots);
	char path[PATH_CAP];

	if (i == 0)
		return name[0] == '/' ? open_in_any(query, name) : open_relative(query, name);
	if (i == 1)
		return open_below_build_ids(query, name);
	if (i - 2 >= (unsigned int)n)
		return -ERANGE;
	return path_by_id(&query->build_id, path) < 0
		       ? -ENOENT
		       : open_elf(roots[i - 2], path, query->roots.user);
}

int debugfile_open_dwo(const struct debugfile_query *query, const char *name, const char *dir)
{
	char path[PATH_CAP];
	const char *base = strrchr(name, '/');
	int fd;

	if (name[0] == '/')
		fd = open_in_any(query, name);
	else if (snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_CAP)
		fd = open_in_any(query, path);
	else
		fd = -ENAMETOOLONG;
	/* The .dwo may have been moved together with the executable after the build. */
	return fd >= 0 ? fd : open_relative(query, base ? base + 1 : name);
}

/* A .dwp contains all .dwo files of a program, and lies next to it. */
int debugfile_open_dwp(const struct debugfile_query *query)
{
	char path[PATH_CAP];

	if (!*query->path || snprintf(path, sizeof(path), "%s.dwp", query->path) >= PATH_CAP)
		return -ENOENT;
	return open_in_any(query, path);
}
