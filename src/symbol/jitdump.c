/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are read as they are completed. A record's body is buffered up to
 * what we want of it; the machine code that follows a JIT_CODE_LOAD's name is
 * passed over. Lines (JIT_CODE_DEBUG_INFO) come before the load of the code
 * they belong to.
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
#include "base/strtab.h"
#include "base/vec.h"
#include "symbol/dwarf_cursor.h"
#include "symbol/proc_ids.h"
#include "symbol/rootfile.h"

enum {
	MAGIC = 0x4a695444,
	HEADER_LEN = 40,
	PREFIX_LEN = 16, /* of a record: id, its length, time */
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	LOAD_WANTED = 48 + JIT_NAME_MAX, /* of a load's body: up to the name */
	DEBUG_WANTED = 4 << 20,
	PIECE_LEN = 64 * 1024,
};

struct line {
	uint64_t addr;
	uint32_t file, line;
};

/* Lines of one function: a stretch of jitdump.lines, for code that was at @base then. */
struct line_set {
	uint64_t base;
	size_t first, n;
};

struct jitdump {
	int fd; /* -1: fed */
	off_t off;
	bool header_read;
	struct jit_table *table;
	struct strtab *files;
	struct {
		VEC(struct line);
	} lines;
	struct {
		VEC(struct line_set);
	} sets;                /* id - 1 */
	uint64_t pending_addr; /* code that the last set is for */
	uint32_t pending_set;  /* 0: none */
	struct buf record;     /* what is wanted of the record being read */
	uint64_t skip;         /* bytes of it that are not */
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
	int fd = rootfile_open(root, path, false), r;
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
	struct proc_ids ids;
	int r = proc_ids_read(&ids, pid);

	if (r < 0)
		return r;
	r = jitdump_open_at(out, ids.root_fd, path, ids.uid);
	close(ids.root_fd);
	return r;
}

/* pid, tid, vma, address, size, index, name; the code follows. */
static int take_load(struct jitdump *j, struct dwarf_cursor *c)
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
		return 0; /* a name that is too long */
	if (j->pending_set && j->pending_addr == addr)
		set = j->pending_set;
	j->pending_set = 0;
	return jit_table_add(j->table, addr, size, name, strlen(name), set);
}

/* pid, tid, vma, old address, new address, size, index. */
static int take_move(struct jitdump *j, struct dwarf_cursor *c)
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

/* One {address, line, discriminator, file}; "\377" stands for the file before. */
static int take_line(struct jitdump *j, struct dwarf_cursor *c, uint32_t *file)
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

static int take_debug_info(struct jitdump *j, struct dwarf_cursor *c)
{
	struct line_set set = { .base = dwarf_u64(c), .first = j->lines.len };
	uint64_t n = dwarf_u64(c);
	uint32_t file = 0;
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0 && !c->bad; i++)
		r = take_line(j, c, &file);
	set.n = j->lines.len - set.first;
	if (!set.n || r == -ENOMEM)
		return r == -EBADMSG ? 0 : r;
	qsort(j->lines.data + set.first, set.n, sizeof(*j->lines.data), line_by_addr);
	r = vec_push(&j->sets, set);
	if (r < 0)
		return r;
	j->pending_addr = set.base;
	j->pending_set = (uint32_t)j->sets.len;
	return 0;
}

/* What is wanted of a record of @id, with its prefix. */
static uint64_t wanted(uint32_t id, uint64_t len)
{
	uint64_t max = PREFIX_LEN;

	if (id == JIT_CODE_LOAD || id == JIT_CODE_MOVE)
		max += LOAD_WANTED;
	else if (id == JIT_CODE_DEBUG_INFO)
		max += DEBUG_WANTED;
	return len < max ? len : max;
}

static int take_record(struct jitdump *j)
{
	struct dwarf_cursor c = { .p = j->record.data, .end = j->record.data + j->record.len };
	uint32_t id = dwarf_u32(&c);

	dwarf_skip(&c, PREFIX_LEN - 4);
	switch (id) {
	case JIT_CODE_LOAD:
		return take_load(j, &c);
	case JIT_CODE_MOVE:
		return take_move(j, &c);
	case JIT_CODE_DEBUG_INFO:
		return take_debug_info(j, &c);
	default:
		return 0;
	}
}

/* How many bytes the record buffer must have before something can be done. */
static int64_t target_len(struct jitdump *j)
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
	return (int64_t)wanted(id, len);
}

static int take_header(struct jitdump *j)
{
	struct dwarf_cursor c = { .p = j->record.data, .end = j->record.data + j->record.len };
	uint32_t magic = dwarf_u32(&c), version = dwarf_u32(&c), len = dwarf_u32(&c);

	if (magic != MAGIC || version != 1 || len < HEADER_LEN || len > 4096)
		return -EBADMSG;
	j->header_read = true;
	j->skip = len - HEADER_LEN;
	return 0;
}

/* The buffer holds what is wanted: use it and pass over the record's rest. */
static int take(struct jitdump *j)
{
	uint32_t len;
	int r;

	if (!j->header_read) {
		r = take_header(j);
	} else {
		memcpy(&len, j->record.data + 4, sizeof(len));
		j->skip = len - j->record.len;
		r = take_record(j);
	}
	j->record.len = 0;
	return r;
}

int jitdump_feed(struct jitdump *j, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		uint64_t skip = j->skip < len ? j->skip : len;
		int64_t target;
		size_t more;
		int r;

		j->skip -= skip;
		p += skip;
		len -= skip;
		if (j->skip)
			return 0;
		target = target_len(j);
		if (target < 0)
			return (int)target;
		more = (size_t)target - j->record.len;
		more = more < len ? more : len;
		buf_put(&j->record, p, more);
		if (buf_error(&j->record))
			return -ENOMEM;
		p += more;
		len -= more;
		target = target_len(j);
		if (target < 0)
			return (int)target;
		if (j->record.len < (size_t)target)
			continue;
		r = take(j);
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

/* The last line at or before @addr. */
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

		l = line_at(j, set, addr - out->start + set->base); /* where it was then */
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
