/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ioctl returns one mapping per call and filters in the kernel: of the thousands of
 * mappings of a large process, a dozen are executable, and the others are neither formatted
 * nor parsed. The text is read through one buffer, line by line; of a line that does not fit,
 * only the path is lost.
 *
 * In the text, a newline in a path appears as "\012" but a backslash is not escaped, so a
 * path that really contains "\012" is misread; the ioctl is exact.
 */
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lines.h"

static struct {
	proc_maps_reader_fn read;
	void *ctx;
} reader;

/* From <linux/fs.h> of Linux 6.11, which older systems lack. */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};

enum {
	QUERY_READABLE = 0x01,
	QUERY_WRITABLE = 0x02,
	QUERY_EXECUTABLE = 0x04,
	QUERY_SHARED = 0x08,
	QUERY_COVERING_OR_NEXT = 0x10,
};

#define PROCMAP_QUERY_IOCTL _IOWR('f', 17, struct procmap_query)

_Static_assert(sizeof(struct procmap_query) == 104, "the kernel checks this size");

/* Removes the suffix " (deleted)", which the kernel appends to the path of a deleted file. */
static void strip_deleted(struct proc_map *m, char *path)
{
	static const char suffix[] = " (deleted)";
	size_t len = strlen(path), suffix_len = sizeof(suffix) - 1;

	if (m->inode && len > suffix_len && !strcmp(path + len - suffix_len, suffix)) {
		path[len - suffix_len] = '\0';
		m->deleted = true;
	}
	m->path = path;
}

/* Queries the first mapping at or above @addr. Returns 1, 0 if there is none, or -errno. */
static int query(int fd, enum proc_maps_filter filter, uint64_t addr, char path[PROC_PATH_MAX],
		 struct proc_map *out)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags =
			QUERY_COVERING_OR_NEXT | (filter == PROC_MAPS_EXEC ? QUERY_EXECUTABLE : 0),
		.query_addr = addr,
		.vma_name_size = PROC_PATH_MAX,
		.vma_name_addr = (uintptr_t)path,
	};
	int r = ioctl(fd, PROCMAP_QUERY_IOCTL, &q);

	if (r < 0 && errno == ENAMETOOLONG) {
		q.vma_name_size = 0;
		q.vma_name_addr = 0;
		r = ioctl(fd, PROCMAP_QUERY_IOCTL, &q);
	}
	if (r < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!q.vma_name_size)
		path[0] = '\0';
	*out = (struct proc_map){
		.start = q.vma_start,
		.end = q.vma_end,
		.file_off = q.vma_offset,
		.dev_major = q.dev_major,
		.dev_minor = q.dev_minor,
		.inode = q.inode,
		.prot = (q.vma_flags & QUERY_READABLE ? PROC_MAP_READ : 0) |
			(q.vma_flags & QUERY_WRITABLE ? PROC_MAP_WRITE : 0) |
			(q.vma_flags & QUERY_EXECUTABLE ? PROC_MAP_EXEC : 0) |
			(q.vma_flags & QUERY_SHARED ? PROC_MAP_SHARED : 0),
	};
	strip_deleted(out, path);
	return 1;
}

static int read_queries(int fd, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			bool *out_unknown)
{
	char path[PROC_PATH_MAX];
	uint64_t addr = 0;

	for (;;) {
		struct proc_map m;
		int r = query(fd, filter, addr, path, &m);

		*out_unknown = !addr && (r == -ENOTTY || r == -EINVAL);
		if (r <= 0)
			return r;
		if (m.end <= addr)
			return -EIO;
		addr = m.end;
		r = fn(ctx, &m);
		if (r)
			return r;
	}
}

static const char *parse_prot(const char *s, uint32_t *out)
{
	static const char letters[] = "rwxs";

	*out = 0;
	for (unsigned int i = 0; i < 4; i++) {
		if (s[i] == letters[i])
			*out |= 1u << i;
		else if (s[i] != (i < 3 ? '-' : 'p'))
			return NULL;
	}
	return s[4] == ' ' ? s + 5 : NULL;
}

static void unescape_newlines(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* The line is "start-end rwxp offset major:minor inode   path". */
int proc_maps_parse_line(char *line, bool is_truncated, struct proc_map *out)
{
	uint64_t major = 0, minor = 0;
	struct proc_map m = { 0 };
	const char *s = line;
	char *path;

	s = lines_number(s, 16, '-', &m.start);
	s = s ? lines_number(s, 16, ' ', &m.end) : NULL;
	s = s ? parse_prot(s, &m.prot) : NULL;
	s = s ? lines_number(s, 16, ' ', &m.file_off) : NULL;
	s = s ? lines_number(s, 16, ':', &major) : NULL;
	s = s ? lines_number(s, 16, ' ', &minor) : NULL;
	s = s ? lines_number(s, 10, ' ', &m.inode) : NULL;
	if (!s || m.start >= m.end || major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	m.dev_major = (uint32_t)major;
	m.dev_minor = (uint32_t)minor;

	path = line + (s - line);
	path += strspn(path, " ");
	unescape_newlines(path);
	if (is_truncated || strlen(path) >= PROC_PATH_MAX)
		*path = '\0';
	strip_deleted(&m, path);
	*out = m;
	return 0;
}

static int report_line(char *line, bool is_truncated, enum proc_maps_filter filter, proc_maps_fn fn,
		       void *ctx, struct err *err)
{
	struct proc_map m;
	int r = proc_maps_parse_line(line, is_truncated, &m);

	if (r < 0)
		return err_set(err, r, "cannot parse a line of /proc/PID/maps: \"%.80s\"", line);
	if (m.start >> 63 || (filter == PROC_MAPS_EXEC && !(m.prot & PROC_MAP_EXEC)))
		return 0;
	return fn(ctx, &m);
}

int proc_maps_read_text(int fd, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			struct err *err)
{
	_cleanup_(lines_fini) struct lines lines;
	bool suffix_len, any = false;
	char *line;
	int n, r = lines_init(&lines, fd);

	if (r < 0)
		return r;
	while ((n = lines_next(&lines, &line, &suffix_len)) > 0) {
		any = true;
		r = report_line(line, suffix_len, filter, fn, ctx, err);
		if (r)
			return r;
	}
	if (n < 0)
		return err_set(err, n, "cannot read the mappings: %s", strerror(-n));
	return any ? 0 : -ESRCH;
}

int proc_maps_read_here(int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			struct err *err)
{
	_cleanup_(closep) int fd = -1;
	bool unknown;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno == ENOENT ? -ESRCH : -errno, "cannot open %s: %m", name);
	r = read_queries(fd, filter, fn, ctx, &unknown);
	if (unknown)
		r = proc_maps_read_text(fd, filter, fn, ctx, err);
	return r;
}

int proc_maps_read(int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
		   struct err *err)
{
	int r;

	if (!reader.read)
		return proc_maps_read_here(pid, filter, fn, ctx, err);
	r = reader.read(reader.ctx, pid, filter, fn, ctx);
	return r < 0 ? err_set(err, r, "cannot read the mappings of process %d: %s", pid,
			       strerror(-r))
		     : r;
}

void proc_maps_set_reader(proc_maps_reader_fn read, void *ctx)
{
	reader.ctx = ctx;
	reader.read = read;
}
