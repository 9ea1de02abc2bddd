/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each refresh reads from where the previous one ended. An incomplete last
 * line waits in a small buffer. Invalid lines and lines longer than that buffer
 * are skipped, because threads of the runtime may interleave their writes.
 */
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "symbol/jit_process.h"

enum { LINE_CAP = JIT_NAME_MAX + 64, PIECE_LEN = 64 * 1024 };

struct perfmap {
	int fd; /* -1: content comes from perfmap_feed() only */
	off_t off;
	struct jit_table *table;
	char line[LINE_CAP];
	size_t line_len;
	bool too_long; /* The current line exceeds the buffer. */
};

int perfmap_new(struct perfmap **out)
{
	struct perfmap *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->fd = -1;
	if (jit_table_new(&m->table) < 0) {
		free(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	jit_table_free(m->table);
	free(m);
}

static bool belongs_to(int fd, uid_t owner)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == owner || st.st_uid == 0);
}

int perfmap_open_at(struct perfmap **out, int root, pid_t ns_pid, uid_t owner)
{
	struct perfmap *m;
	char path[64];
	int fd, r;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)ns_pid);
	fd = regular_file_open_in(root, path, true);
	if (fd == -ELOOP)
		return -EPERM;
	if (fd < 0)
		return fd;
	r = belongs_to(fd, owner) ? perfmap_new(&m) : -EPERM;
	if (r < 0) {
		close(fd);
		return r;
	}
	m->fd = fd;
	*out = m;
	return 0;
}

int perfmap_open(struct perfmap **out, pid_t pid)
{
	struct jit_process ids;
	int r = jit_process_open(&ids, pid);

	if (r < 0)
		return r;
	r = perfmap_open_at(out, ids.root_fd, ids.ns_pid, ids.uid);
	close(ids.root_fd);
	return r;
}

/* Parses a hexadecimal number and the space after it, and advances *@s. */
static bool parse_hex(const char **s, const char *end, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && digits <= 16; p++, digits++) {
		char c = *p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (uint64_t)(c - 'A' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || p == end || *p != ' ')
		return false;
	*s = p + 1;
	*out = v;
	return true;
}

static int parse_line(struct perfmap *m, const char *line, size_t len)
{
	const char *s = line, *end = line + len;
	uint64_t start, size;

	/* A line may also arrive in one piece, without the buffer. */
	if (len > LINE_CAP || !parse_hex(&s, end, &start) || !parse_hex(&s, end, &size) ||
	    s == end || memchr(s, 0, (size_t)(end - s)))
		return 0;
	return jit_table_add(m->table, start, size, s, (size_t)(end - s), 0);
}

/* Appends part of a line to the buffer. */
static void buffer_partial(struct perfmap *m, const char *data, size_t len)
{
	if (len > LINE_CAP - m->line_len) {
		m->too_long = true;
		m->line_len = 0;
	}
	if (m->too_long)
		return;
	memcpy(m->line + m->line_len, data, len);
	m->line_len += len;
}

int perfmap_feed(struct perfmap *m, const char *data, size_t len)
{
	int r = 0;

	while (len && r == 0) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len;

		if (!nl) {
			buffer_partial(m, data, n);
			break;
		}
		if (m->line_len || m->too_long) {
			buffer_partial(m, data, n);
			if (!m->too_long)
				r = parse_line(m, m->line, m->line_len);
			m->line_len = 0;
			m->too_long = false;
		} else {
			r = parse_line(m, data, n);
		}
		data += n + 1;
		len -= n + 1;
	}
	return r;
}

static void start_over(struct perfmap *m)
{
	jit_table_clear(m->table);
	m->off = 0;
	m->line_len = 0;
	m->too_long = false;
}

int perfmap_refresh(struct perfmap *m)
{
	_cleanup_(freep) char *piece = NULL;
	struct stat st;

	if (m->fd < 0)
		return 0;
	if (fstat(m->fd, &st) < 0)
		return -errno;
	if (st.st_size < m->off)
		start_over(m);
	if (st.st_size == m->off)
		return 0;
	piece = malloc(PIECE_LEN);
	if (!piece)
		return -ENOMEM;
	/* Stop at the size measured above: a fast writer could otherwise hold this loop. */
	while (m->off < st.st_size) {
		ssize_t n = pread(m->fd, piece, PIECE_LEN, m->off);
		int r;

		if (m->off > PERFMAP_BYTES_MAX)
			return -E2BIG;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		m->off += n;
		r = perfmap_feed(m, piece, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

int perfmap_find(struct perfmap *m, uint64_t addr, struct jit_function *out)
{
	return jit_table_find(m->table, addr, out);
}

size_t perfmap_bytes(const struct perfmap *m)
{
	return sizeof(*m) + jit_table_bytes(m->table);
}
