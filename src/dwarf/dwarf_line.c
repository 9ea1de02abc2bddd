/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the line number program of .debug_line (DWARF 5, 6.2) once per unit. The
 * resulting rows of 12 bytes are grouped into sequences, which have ascending
 * addresses and are sorted by their first address. The last of several rows at
 * one address counts, as in addr2line. The flag is_stmt, columns,
 * and VLIW operation indexes are not stored.
 */
#include "dwarf/dwarf_line.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bisect.h"

struct row {
	uint32_t rel; /* address relative to the start of the sequence */
	uint32_t file : 20;
	uint32_t discriminator : 12;
	uint32_t line;
};

struct sequence {
	uint64_t lo, hi;
	size_t first, n; /* rows */
};

struct file {
	const char *name;
	const uint8_t *md5; /* 16 bytes; NULL: none */
	uint32_t dir;
	char *path; /* NULL until needed */
};

struct dwarf_lines {
	uint16_t version;
	struct {
		VEC(struct row);
	} rows;
	struct {
		VEC(struct sequence);
	} sequences;
	struct {
		VEC(const char *);
	} dirs;
	struct {
		VEC(struct file);
	} files;
	size_t path_bytes;
};

struct header {
	uint8_t min_inst_len, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *op_lens;
	const uint8_t *program;
};

/*
 * The registers of the state machine that a line number program controls (6.2.2), as far as they
 * are stored, and the sequence that is being built.
 */
struct machine {
	const struct dwarf_unit *u;
	struct dwarf_lines *l;
	struct header h;
	uint64_t addr;
	uint32_t file, line, discriminator;
	size_t first; /* first row of the current sequence */
	uint64_t lo;
	bool open, unsorted;
};

/* DWARF 4, 6.2.4: directories end with an empty string, files with an empty name. */
static int tables_v4(struct dwarf_lines *l, struct dwarf_cursor *c)
{
	int r = 0;

	for (;;) {
		const char *dir = dwarf_string(c);

		if (c->bad || !*dir)
			break;
		r = l->dirs.len >= DWARF_FILES_MAX ? -EBADMSG : vec_push(&l->dirs, dir);
		if (r < 0)
			return r;
	}
	for (;;) {
		struct file f = { .name = dwarf_string(c) };

		if (c->bad || !*f.name)
			break;
		f.dir = (uint32_t)dwarf_uleb(c);
		dwarf_uleb(c);
		dwarf_uleb(c);
		r = l->files.len >= DWARF_FILES_MAX ? -EBADMSG : vec_push(&l->files, f);
		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

struct entry_format {
	uint16_t content, form;
};

enum { FORMATS_MAX = 16 };

/*
 * Reads the content types and forms of the columns of a table. Returns their number, or 0 after
 * failing the cursor.
 */
static size_t read_formats(struct dwarf_cursor *c, struct entry_format *out)
{
	size_t n = dwarf_u8(c);

	if (n > FORMATS_MAX)
		dwarf_fail(c);
	for (size_t i = 0; i < n && !c->bad; i++) {
		out[i].content = (uint16_t)dwarf_uleb(c);
		out[i].form = (uint16_t)dwarf_uleb(c);
	}
	return c->bad ? 0 : n;
}

/* DWARF 5, 6.2.4.1: reads directories or files from a table that describes its own format. */
static int table_v5(struct dwarf_lines *l, const struct dwarf_unit *u, struct dwarf_cursor *c,
		    bool files)
{
	struct entry_format formats[FORMATS_MAX];
	size_t n_formats = read_formats(c, formats);
	uint64_t n = dwarf_uleb(c);

	if (n > DWARF_FILES_MAX || (n && !n_formats))
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !c->bad; i++) {
		struct file f = { .name = "" };
		int r;

		for (size_t k = 0; k < n_formats; k++) {
			struct dwarf_spec spec = { .form = formats[k].form };
			const uint8_t *at = c->p;
			struct dwarf_value v = dwarf_attr_read(u, c, &spec);

			if (formats[k].content == DW_LNCT_path && v.class == DWARF_STRING)
				f.name = v.s;
			else if (formats[k].content == DW_LNCT_directory_index)
				f.dir = (uint32_t)v.u;
			else if (formats[k].content == DW_LNCT_MD5 &&
				 formats[k].form == DW_FORM_data16 && !c->bad)
				f.md5 = at;
		}
		r = files ? vec_push(&l->files, f) : vec_push(&l->dirs, f.name);
		if (r < 0)
			return r;
	}
	return c->bad ? -EBADMSG : 0;
}

static int read_tables(struct dwarf_lines *l, const struct dwarf_unit *u, struct dwarf_cursor *c)
{
	int r;

	if (l->version < 5)
		return tables_v4(l, c);
	r = table_v5(l, u, c, false);
	return r < 0 ? r : table_v5(l, u, c, true);
}

/* Reads the header and its tables, and limits @c to the program that follows. */
static int read_header(struct dwarf_lines *l, struct dwarf_unit *u, struct dwarf_cursor *c,
		       struct header *h)
{
	struct dwarf_cursor tables;
	uint64_t len;
	int r;

	if (!dwarf_unit_length(c, &u->is64))
		return -EBADMSG;
	l->version = dwarf_u16(c);
	if (l->version < 2 || l->version > 5)
		return -EBADMSG;
	if (l->version >= 5) {
		u->addr_len = dwarf_u8(c);
		dwarf_u8(c);
	}
	/*
	 * The length of the header, not the end of its tables, determines where the program begins.
	 */
	len = dwarf_offset(c, u->is64);
	tables = *c;
	dwarf_skip(c, len);
	h->min_inst_len = dwarf_u8(&tables);
	if (l->version >= 4)
		dwarf_u8(&tables);
	dwarf_u8(&tables);
	h->line_base = (int8_t)dwarf_u8(&tables);
	h->line_range = dwarf_u8(&tables);
	h->opcode_base = dwarf_u8(&tables);
	h->op_lens = tables.p;
	dwarf_skip(&tables, h->opcode_base ? h->opcode_base - 1u : 0);
	if (c->bad || tables.bad || !h->line_range || !h->opcode_base ||
	    (u->addr_len != 8 && u->addr_len != 4))
		return -EBADMSG;
	r = read_tables(l, u, &tables);
	return r;
}

/* LLVM's encoding of a number below 4096: bit 0 set is 0, bit 6 means that 7 more bits follow. */
uint32_t dwarf_discriminator(uint64_t encoded)
{
	uint32_t v = (uint32_t)(encoded >> 1);

	if (encoded & 1)
		return 0;
	return v & 0x20 ? ((v >> 1) & 0xfe0) | (v & 0x1f) : v & 0x1f;
}

/*
 * Appends the current registers as a row; the first row begins the sequence. A later row at the
 * same address replaces the earlier one. Rows in descending order are accepted and sorted when the
 * sequence ends.
 */
static int add_row(struct machine *m)
{
	struct dwarf_lines *l = m->l;
	struct row row = { .file = m->file < DWARF_NO_FILE ? m->file : DWARF_NO_FILE,
			   .discriminator = m->discriminator & DWARF_DISCRIMINATOR_MAX,
			   .line = m->line };

	m->discriminator = 0; /* a discriminator applies to one row (6.2.5.1) */
	if (!m->open) {
		m->open = true;
		m->unsorted = false;
		m->first = l->rows.len;
		m->lo = m->addr;
	}
	if (m->addr < m->lo || m->addr - m->lo > UINT32_MAX)
		return 0; /* Addresses must ascend within a sequence. */
	row.rel = (uint32_t)(m->addr - m->lo);
	if (l->rows.len > m->first) {
		struct row *last = &l->rows.data[l->rows.len - 1];

		if (last->rel == row.rel) {
			*last = row;
			return 0;
		}
		m->unsorted |= last->rel > row.rel;
	}
	return l->rows.len >= DWARF_ROWS_MAX ? -EBADMSG : vec_push(&l->rows, row);
}

static int row_by_rel(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->rel < y->rel ? -1 : x->rel > y->rel;
}

static void reset(struct machine *m)
{
	m->addr = 0;
	m->file = m->line = 1;
	m->discriminator = 0;
	m->open = false;
}

/* Stores the sequence that ends here, unless it describes code that the linker discarded. */
static int end_sequence(struct machine *m)
{
	struct dwarf_lines *l = m->l;
	struct sequence s = { .lo = m->lo, .hi = m->addr, .first = m->first };
	bool open = m->open;

	reset(m);
	if (!open)
		return 0;
	s.n = l->rows.len - s.first;
	/* linkers set the addresses of discarded code to 0 or 1 */
	if (s.lo <= 1 || s.hi <= s.lo) {
		l->rows.len = s.first;
		return 0;
	}
	if (m->unsorted)
		qsort(l->rows.data + s.first, s.n, sizeof(*l->rows.data), row_by_rel);
	return vec_push(&l->sequences, s);
}

/* An extended opcode contains its length, so unknown ones are skipped (6.2.5.3). */
static int extended_op(struct machine *m, struct dwarf_cursor *c)
{
	uint64_t len = dwarf_uleb(c);
	struct dwarf_cursor op = *c;

	dwarf_skip(c, len);
	if (c->bad || !len)
		return -EBADMSG;
	op.end = c->p;
	switch (dwarf_u8(&op)) {
	case DW_LNE_end_sequence:
		return end_sequence(m);
	case DW_LNE_set_address:
		m->addr = dwarf_uint(&op, len - 1 <= 8 ? len - 1 : 0);
		return 0;
	case DW_LNE_set_discriminator:
		m->discriminator = dwarf_discriminator(dwarf_uleb(&op));
		return 0;
	default:
		return 0;
	}
}

static int standard_op(struct machine *m, struct dwarf_cursor *c, uint8_t op)
{
	switch (op) {
	case DW_LNS_copy:
		return add_row(m);
	case DW_LNS_advance_pc:
		m->addr += dwarf_uleb(c) * m->h.min_inst_len;
		return 0;
	case DW_LNS_advance_line:
		m->line += (uint32_t)dwarf_sleb(c);
		return 0;
	case DW_LNS_set_file:
		m->file = (uint32_t)dwarf_uleb(c);
		return 0;
	case DW_LNS_const_add_pc:
		m->addr +=
			(uint64_t)((255 - m->h.opcode_base) / m->h.line_range) * m->h.min_inst_len;
		return 0;
	case DW_LNS_fixed_advance_pc:
		m->addr += dwarf_u16(c);
		return 0;
	default: /* The header has the number of operands of unknown opcodes. */
		for (uint8_t i = 0; i < m->h.op_lens[op - 1]; i++)
			dwarf_uleb(c);
		return 0;
	}
}

/* A special opcode advances both address and line and appends a row (6.2.5.1). */
static int special_op(struct machine *m, uint8_t op)
{
	op = (uint8_t)(op - m->h.opcode_base);
	m->addr += (uint64_t)(op / m->h.line_range) * m->h.min_inst_len;
	m->line += (uint32_t)(m->h.line_base + op % m->h.line_range);
	return add_row(m);
}

/*
 * A malformed program ends at its error. The rows of the sequences before that are used, since
 * lines of other functions are better than none.
 */
static int run(struct machine *m, struct dwarf_cursor *c)
{
	int r = 0;

	reset(m);
	while (r == 0 && c->p < c->end) {
		uint8_t op = dwarf_u8(c);

		if (op >= m->h.opcode_base)
			r = special_op(m, op);
		else if (op == 0)
			r = extended_op(m, c);
		else
			r = standard_op(m, c, op);
	}
	if (m->open)
		m->l->rows.len = m->first; /* The last sequence is incomplete. */
	return r == -ENOMEM ? r : 0;
}

static int by_lo(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

int dwarf_lines_build(struct dwarf_lines **out, const struct dwarf_unit *u)
{
	struct dwarf_unit reader = *u; /* The table has its own format and address size. */
	struct dwarf_cursor c = dwarf_cursor_at(&u->file->sections->s[DWARF_LINE], u->stmt_list);
	struct dwarf_lines *l;
	struct machine m = { .u = u };
	int r;

	if (!u->has_stmt_list || c.bad)
		return -ENODATA;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	m.l = l;
	r = read_header(l, &reader, &c, &m.h);
	if (r == 0)
		r = run(&m, &c);
	if (r < 0) {
		dwarf_lines_free(l);
		return r;
	}
	if (l->sequences.len)
		qsort(l->sequences.data, l->sequences.len, sizeof(*l->sequences.data), by_lo);
	*out = l;
	return 0;
}

void dwarf_lines_free(struct dwarf_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->files.len; i++)
		free(l->files.data[i].path);
	vec_fini(&l->rows);
	vec_fini(&l->sequences);
	vec_fini(&l->dirs);
	vec_fini(&l->files);
	free(l);
}

/* Returns the last row of @s at or before @addr. */
static const struct row *row_in(const struct dwarf_lines *l, const struct sequence *s,
				uint64_t addr)
{
	size_t lo = bisect(s->n, i, l->rows.data[s->first + i].rel <= addr - s->lo);

	return lo ? &l->rows.data[s->first + lo - 1] : NULL;
}

/*
 * Sequences may overlap, so up to OVERLAPS_MAX of those that begin at or before the address are
 * tried, the closest one first.
 */
int dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr, struct dwarf_position *out)
{
	enum { OVERLAPS_MAX = 8 };
	size_t lo = bisect(l->sequences.len, i, l->sequences.data[i].lo <= addr);

	for (size_t tries = 0; lo && tries < OVERLAPS_MAX; lo--, tries++) {
		const struct sequence *s = &l->sequences.data[lo - 1];
		const struct row *row = addr < s->hi ? row_in(l, s, addr) : NULL;

		if (!row)
			continue;
		*out = (struct dwarf_position){ row->file, row->line, row->discriminator };
		return 0;
	}
	return -ENOENT;
}

/* Returns the directory of a file, or NULL for the unit's compilation directory. */
static const char *dir_of(const struct dwarf_lines *l, const struct file *f)
{
	size_t i = f->dir;

	if (l->version < 5) {
		if (!i)
			return NULL;
		i--;
	}
	return i < l->dirs.len ? l->dirs.data[i] : NULL;
}

static char *join(const char *base, const char *dir, const char *name)
{
	char *s;
	int n;

	if (name[0] == '/' || (!dir && !base))
		return strdup(name);
	if (!dir)
		n = asprintf(&s, "%s/%s", base, name);
	else if (dir[0] == '/' || !base)
		n = asprintf(&s, "%s/%s", dir, name);
	else
		n = asprintf(&s, "%s/%s/%s", base, dir, name);
	return n < 0 ? NULL : s;
}

/* Files are numbered from 1 up to DWARF 4, and from 0 since DWARF 5. NULL: there is none. */
static struct file *file_of(const struct dwarf_lines *l, uint32_t file)
{
	size_t i = l->version < 5 ? (size_t)file - 1 : file;

	return i < l->files.len ? &l->files.data[i] : NULL;
}

const uint8_t *dwarf_lines_md5(const struct dwarf_lines *l, uint32_t file)
{
	const struct file *f = file_of(l, file);

	return f ? f->md5 : NULL;
}

/*
 * A path is joined when it is first needed, because most files of a unit are headers without any
 * sample.
 */
const char *dwarf_lines_path(struct dwarf_lines *l, const struct dwarf_unit *u, uint32_t file)
{
	struct file *f = file_of(l, file);

	if (!f)
		return "";
	if (!f->path) {
		f->path = join(u->comp_dir, dir_of(l, f), f->name);
		if (f->path)
			l->path_bytes += strlen(f->path) + 1;
	}
	return f->path ? f->path : "";
}

size_t dwarf_lines_bytes(const struct dwarf_lines *l)
{
	return sizeof(*l) + l->rows.cap * sizeof(struct row) +
	       l->sequences.cap * sizeof(struct sequence) + l->files.cap * sizeof(struct file) +
	       l->path_bytes;
}
