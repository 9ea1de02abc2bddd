/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input arrives in arbitrary pieces. The part of a record that is needed is
 * collected in a buffer and parsed when complete; the remainder, such as the
 * machine code after the name in a JIT_CODE_LOAD, is skipped. Line numbers
 * (JIT_CODE_DEBUG_INFO) precede the load record of the code that they describe.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/regular_file.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "dwarf/dwarf_cursor.h"
#include "symbol/jit_process.h"

enum {
	MAGIC = 0x4a695444,
	HEADER_LEN = 40,
	PREFIX_LEN = 16, /* of a record: id, length, time */
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	LOAD_BODY_MAX = 48 + JIT_NAME_MAX, /* fields and name of a JIT_CODE_LOAD */
	DEBUG_BODY_MAX = 4 << 20,
	PIECE_LEN = 64 * 1024,
};

struct line {
	uint64_t addr;
	uint32_t file, line;
};

/* The lines of one function: a range of jitdump.lines, for code at address @base at that time. */
struct line_set {
	uint64_t base;
	size_t first, n;
};

struct jitdump {
	int fd; /* -1: content comes from jitdump_feed() only */
	off_t off;
	bool header_read;
	struct jit_table *table;
	struct strtab *files;
	struct {
		VEC(struct line);
	} lines;
	struct {
		VEC(struct line_set);
	} sets;                /* index: line set id - 1 */
	uint64_t pending_addr; /* address of the code that the last set describes */
	uint32_t pending_set;  /* 0: none */
	struct buf record;     /* the needed part of the current record */
	uint64_t skip;         /* remaining bytes to discard */
};

int jitdump_new(struct jitdump **out)
{
	struct jitdump *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->fd = -1;
	if (jit_table_new(&j->table) < 0 || strtab_new(&j->files) < 0) {
		jitdump_free(j);
		return -ENOMEM;
	}
	*out = j;
	return 0;
}

void jitdump_free(struct jitdump *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	jit_table_free(j->table);
	strtab_free(j->files);
	vec_fini(&j->lines);
	vec_fini(&j->sets);
	buf_fini(&j->record);
	free(j);
}

int jitdump_is_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && fnmatch("jit-[0-9]*.dump", slash + 1, 0) == 0;
}

int jitdump_open_at(struct jitdump **out, int root, const char *path, uid_t owner)
{
	_cleanup_(jitdump_freep) struct jitdump *j = NULL;
	int fd = regular_file_open_in(root, path, false), r;
	struct stat st;

	if (fd < 0)
		return fd;
	r = fstat(fd, &st) < 0                     ? -errno
	    : st.st_uid != owner && st.st_uid != 0 ? -EPERM
						   : jitdump_new(&j);
	if (r < 0) {
		close(fd);
		return r;
	}
	j->fd = fd;
	r = jitdump_refresh(j);
	if (r < 0 && !j->header_read)
		return r == -EBADMSG ? -ENOEXEC : r;
	*out = steal_ptr(&j);
	return 0;
}

int jitdump_open(struct jitdump **out, pid_t pid, const char *path)
{
	struct jit_process ids;
	int r = jit_process_open(&ids, pid);

	if (r < 0)
		return r;
	r = jitdump_open_at(out, ids.root_fd, path, ids.uid);
	close(ids.root_fd);
	return r;
}

/* Fields: pid, tid, vma, address, size, index, name. The machine code follows. */
static int parse_load(struct jitdump *j, struct dwarf_cursor *c)
{
	uint64_t addr, size;
	const char *name;
	uint32_t set = 0;

	dwarf_skip(c, 16);
	addr = dwarf_u64(c);
	size = dwarf_u64(c);
	dwarf_skip(c, 8);
	name = dwarf_string(c);
	if (c->bad)
		return 0; /* The name is too long. */
	if (j->pending_set && j->pending_addr == addr)
		set = j->pending_set;
	j->pending_set = 0;
	return jit_table_add(j->table, addr, size, name, strlen(name), set);
}

/* Fields: pid, tid, vma, old address, new address, size, index. */
static int parse_move(struct jitdump *j, struct dwarf_cursor *c)
{
	struct jit_function f;
	uint64_t from, to, size;

	dwarf_skip(c, 16);
	from = dwarf_u64(c);
	to = dwarf_u64(c);
	size = dwarf_u64(c);
	if (c->bad || jit_table_at(j->table, from, &f) < 0)
		return 0;
	return jit_table_add(j->table, to, size, f.name, strlen(f.name), f.lines_id);
}

/* Parses {address, line, discriminator, file}. The file "\377" repeats that of the previous entry.
 */
static int parse_line(struct jitdump *j, struct dwarf_cursor *c, uint32_t *file)
{
	struct line l = { .addr = dwarf_u64(c) };
	const char *name;
	int r;

	l.line = dwarf_u32(c);
	dwarf_skip(c, 4);
	name = dwarf_string(c);
	if (c->bad)
		return -EBADMSG;
	if (strcmp(name, "\377")) {
		r = strtab_add(j->files, name, strlen(name), file);
		if (r < 0)
			return r;
	}
	l.file = *file;
	if (j->lines.len >= JITDUMP_LINES_MAX || strtab_bytes(j->files) > JIT_NAMES_MAX)
		return -E2BIG;
	return vec_push(&j->lines, l);
}

static int line_by_addr(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int parse_debug_info(struct jitdump *j, struct dwarf_cursor *c)
{
	struct line_set set = { .base = dwarf_u64(c), .first = j->lines.len };
	uint64_t n = dwarf_u64(c);
	uint32_t file = 0;
	int r = 0, pushed;

	for (uint64_t i = 0; i < n && r == 0 && !c->bad; i++)
		r = parse_line(j, c, &file);
	set.n = j->lines.len - set.first;
	if (!set.n || r == -ENOMEM)
		return r == -EBADMSG ? 0 : r;
	qsort(j->lines.data + set.first, set.n, sizeof(*j->lines.data), line_by_addr);
	pushed = vec_push(&j->sets, set);
	if (pushed < 0)
		return pushed;
	j->pending_addr = set.base;
	j->pending_set = (uint32_t)j->sets.len;
	return r == -E2BIG ? r : 0;
}

/* Returns how many bytes of a record, including its prefix, must be buffered. */
static uint64_t buffered_len(uint32_t id, uint64_t len)
{
	uint64_t max = PREFIX_LEN;

	if (id == JIT_CODE_LOAD || id == JIT_CODE_MOVE)
		max += LOAD_BODY_MAX;
	else if (id == JIT_CODE_DEBUG_INFO)
		max += DEBUG_BODY_MAX;
	return len < max ? len : max;
}

static int parse_record(struct jitdump *j)
{
	struct dwarf_cursor c = { .p = j->record.data, .end = j->record.data + j->record.len };
	uint32_t id = dwarf_u32(&c);

	dwarf_skip(&c, PREFIX_LEN - 4);
	switch (id) {
	case JIT_CODE_LOAD:
		return parse_load(j, &c);
	case JIT_CODE_MOVE:
		return parse_move(j, &c);
	case JIT_CODE_DEBUG_INFO:
		return parse_debug_info(j, &c);
	default:
		return 0;
	}
}

/* Returns how many bytes the buffer must hold before it can be processed, or -EBADMSG. */
static int64_t needed_len(struct jitdump *j)
{
	struct dwarf_cursor c = { .p = j->record.data, .end = j->record.data + j->record.len };
	uint32_t id, len;

	if (!j->header_read)
		return HEADER_LEN;
	if (j->record.len < PREFIX_LEN)
		return PREFIX_LEN;
	id = dwarf_u32(&c);
	len = dwarf_u32(&c);
	if (len < PREFIX_LEN)
		return -EBADMSG;
	return (int64_t)buffered_len(id, len);
}

static int parse_header(struct jitdump *j)
{
	struct dwarf_cursor c = { .p = j->record.data, .end = j->record.data + j->record.len };
	uint32_t magic = dwarf_u32(&c), version = dwarf_u32(&c), len = dwarf_u32(&c);

	if (magic != MAGIC || version != 1 || len < HEADER_LEN || len > 4096)
		return -EBADMSG;
	j->header_read = true;
	j->skip = len - HEADER_LEN;
	return 0;
}

/* Parses the complete buffer and sets @skip to the remainder of the record. */
static int process_buffer(struct jitdump *j)
{
	uint32_t len;
	int r;

	if (!j->header_read) {
		r = parse_header(j);
	} else {
		memcpy(&len, j->record.data + 4, sizeof(len));
		j->skip = len - j->record.len;
		r = parse_record(j);
	}
	j->record.len = 0;
	return r;
}

int jitdump_feed(struct jitdump *j, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		uint64_t skip = j->skip < len ? j->skip : len;
		int64_t needed;
		size_t more;
		int r;

		j->skip -= skip;
		p += skip;
		len -= skip;
		if (j->skip)
			return 0;
		needed = needed_len(j);
		if (needed < 0)
			return (int)needed;
		more = (size_t)needed - j->record.len;
		more = more < len ? more : len;
		buf_put(&j->record, p, more);
		if (buf_error(&j->record))
			return -ENOMEM;
		p += more;
		len -= more;
		needed = needed_len(j);
		if (needed < 0)
			return (int)needed;
		if (j->record.len < (size_t)needed)
			continue;
		r = process_buffer(j);
		if (r < 0)
			return r;
	}
	return 0;
}

int jitdump_refresh(struct jitdump *j)
{
	_cleanup_(freep) uint8_t *piece = NULL;
	struct stat st;

	if (j->fd < 0)
		return 0;
	if (fstat(j->fd, &st) < 0)
		return -errno;
	if (st.st_size <= j->off)
		return 0;
	piece = malloc(PIECE_LEN);
	if (!piece)
		return -ENOMEM;
	while (j->off < st.st_size) {
		ssize_t n = pread(j->fd, piece, PIECE_LEN, j->off);
		int r;

		if (j->off > JITDUMP_BYTES_MAX)
			return -E2BIG;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		j->off += n;
		r = jitdump_feed(j, piece, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the last line at or before @addr, or NULL. */
static const struct line *line_at(const struct jitdump *j, const struct line_set *set,
				  uint64_t addr)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->lines.data[set->first + mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &j->lines.data[set->first + lo - 1] : NULL;
}

int jitdump_find(struct jitdump *j, uint64_t addr, struct jit_function *out, const char **out_file,
		 uint32_t *out_line)
{
	const struct line *l = NULL;
	int r = jit_table_find(j->table, addr, out);

	if (r < 0)
		return r;
	if (out->lines_id) {
		const struct line_set *set = &j->sets.data[out->lines_id - 1];

		/* Lines refer to the address at which the code was first loaded. */
		l = line_at(j, set, addr - out->start + set->base);
	}
	*out_file = l ? strtab_get(j->files, l->file) : "";
	*out_line = l ? l->line : 0;
	return 0;
}

size_t jitdump_bytes(const struct jitdump *j)
{
	return sizeof(*j) + jit_table_bytes(j->table) + strtab_bytes(j->files) +
	       j->lines.cap * sizeof(struct line) + j->sets.cap * sizeof(struct line_set);
}
