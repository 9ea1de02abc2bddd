/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Go's runtime function table. Four formats share one model: a sorted array {entry, offset of
 * a function's record}, and records with offsets of a name and of tables that map instruction
 * ranges to a value (stack depth, file, line, index in the inline tree). They differ in the width
 * of addresses and in the position of fields, which one table below describes; elf/gomodule.h finds
 * the table and what it refers to.
 *
 * Nothing is decoded in advance: opening checks the header and the order of the function array;
 * everything else is read, and checked, on demand. The file may change meanwhile, so no earlier
 * check is relied on. A lookup costs at most RUNS_MAX steps per table; iterating over all stack
 * depths costs at most one step per byte of text.
 */
#include "elf/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "elf/gomodule.h"
#include "elf/image.h"

enum {
	COPY_MAX = 128 << 20, /* bytes copied to apply relocations to an old table */
	RUNS_MAX = 1 << 18,   /* runs of one table of values in one lookup */
	NAME_MAX_LEN = 1 << 16,
	FUNCDATA_MAX = 256,
};

/* The layout of one version of the format; offsets in a record are relative to its second field. */
struct format {
	uint32_t magic;
	uint8_t addr_len;   /* bytes of an entry address or offset, and of an offset in the array */
	uint8_t cu;         /* offset of the compilation unit's first file; 0: files are global */
	uint8_t start_line; /* offset of the start line; 0: none */
	uint8_t tail;       /* offset of {function id, flags, -, number of funcdata} */
	bool wide_count;    /* the tail is a 32-bit number of funcdata instead */
	uint8_t inl_pcdata, inl_funcdata; /* indices */
	uint8_t inl_len;                  /* bytes of an entry of the inline tree */
	bool relative;                    /* addresses are relative to what the module data says */
};

enum { WRAPPER_SEARCH = 8192 }; /* functions that are searched; the runtime's are among the first */
enum { HEADER_TEXT = 24 };      /* Go 1.18 to 1.25 */
enum { FUNC_NAME = 0, FUNC_PCSP = 12, FUNC_PCFILE = 16, FUNC_PCLN = 20, FUNC_N_PCDATA = 24 };

static const struct format formats[] = {
	/* Go 1.2 to 1.11, inline trees since 1.9 */
	{ 0xfffffffb, 8, 0, 0, 28, true, 1, 2, 16, false },
	/* 1.12 */
	{ 0xfffffffb, 8, 0, 0, 28, false, 1, 2, 20, false },
	/* 1.13 to 1.15 */
	{ 0xfffffffb, 8, 0, 0, 28, false, 2, 4, 20, false },
	/* 1.16, 1.17 */
	{ 0xfffffffa, 8, 28, 0, 32, false, 2, 3, 20, false },
	/* 1.18, 1.19 */
	{ 0xfffffff0, 4, 28, 0, 32, false, 2, 3, 20, true },
	/* since 1.20 */
	{ 0xfffffff1, 4, 28, 32, 36, false, 2, 3, 16, true },
};

enum {
	FORMAT_1_2,
	FORMAT_1_12,
	FORMAT_1_13,
	FORMAT_1_16,
	FORMAT_1_18,
	FORMAT_1_20,
	FORMAT_MAX,
};

struct range {
	const uint8_t *data;
	size_t len;
};

struct gopclntab {
	const struct elf_image *img;
	const struct format *fmt;
	uint8_t *copy; /* copy of the table with relocations applied; or NULL */
	uint64_t vaddr;
	uint8_t quantum;    /* instruction unit */
	uint8_t wrapper_id; /* function id of wrappers that the compiler generates; 0: unknown */
	size_t n;
	uint64_t text;   /* address to which entries are relative */
	uint64_t gofunc; /* address to which funcdata is relative */
	struct range all;
	struct range names, cus, files, pcs; /* each up to the end of the whole */
	struct range funcs;                  /* the array {entry, offset in records} */
	struct range records;
};

/* A function's record. */
struct func {
	struct range rec; /* from its second field to the end of the table */
	uint64_t start, end;
	uint32_t n_pcdata, n_funcdata;
	uint32_t cu;
	uint32_t start_line;
	uint8_t id, flags;
};

/* One run of equal values of a table. */
struct run {
	const uint8_t *p, *stop;
	uint64_t start, end;
	int32_t value;
	bool any;
};

static bool get32(const struct range *r, uint64_t off, uint32_t *out)
{
	if (off > r->len || r->len - off < sizeof(*out))
		return false;
	memcpy(out, r->data + off, sizeof(*out));
	return true;
}

static bool get64(const struct range *r, uint64_t off, uint64_t *out)
{
	if (off > r->len || r->len - off < sizeof(*out))
		return false;
	memcpy(out, r->data + off, sizeof(*out));
	return true;
}

static const char *get_string(const struct range *r, uint64_t off)
{
	size_t len;

	if (off >= r->len)
		return NULL;
	len = r->len - off < NAME_MAX_LEN ? r->len - off : NAME_MAX_LEN;
	return memchr(r->data + off, 0, len) ? (const char *)r->data + off : NULL;
}

/* The range from @off on; false if that is outside. */
static bool sub_range(const struct range *r, uint64_t off, struct range *out)
{
	if (off > r->len)
		return false;
	*out = (struct range){ r->data + off, r->len - off };
	return true;
}

/* Reads word @word of the function array, whose words are as wide as an entry. */
static bool array_word(const struct gopclntab *t, uint64_t word, uint64_t *out)
{
	uint32_t v;

	if (t->fmt->addr_len == 8)
		return get64(&t->funcs, word * 8, out);
	if (!get32(&t->funcs, word * 4, &v))
		return false;
	*out = v;
	return true;
}

static bool array_entry(const struct gopclntab *t, uint64_t i, uint64_t *out)
{
	if (!array_word(t, i * 2, out))
		return false;
	*out += t->text;
	return true;
}

/* Finds function @i's record, from its second field on. */
static bool record_at(const struct gopclntab *t, uint64_t i, struct range *out)
{
	uint64_t off;

	return array_word(t, i * 2 + 1, &off) && off <= t->records.len &&
	       sub_range(&t->records, off + t->fmt->addr_len, out);
}

static int parse_1_2(struct gopclntab *t)
{
	uint32_t off;

	t->names = t->files = t->pcs = t->records = t->all;
	if (!sub_range(&t->all, 16, &t->funcs))
		return -EBADMSG;
	/* the array ends with an address and the offset of the list of files */
	if (!get32(&t->funcs, (uint64_t)t->n * 16 + 8, &off) || !sub_range(&t->all, off, &t->cus))
		return -EBADMSG;
	return 0;
}

static int parse_1_16(struct gopclntab *t)
{
	struct range *const parts[] = { &t->names, &t->cus, &t->files, &t->pcs, &t->funcs };
	uint64_t off, at = t->fmt->relative ? 32 : 24;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!get64(&t->all, at + 8 * i, &off) || !sub_range(&t->all, off, parts[i]))
			return -EBADMSG;
	}
	t->records = t->funcs;
	return 0;
}

static bool is_sorted(const struct gopclntab *t)
{
	uint64_t last = 0, entry;

	for (size_t i = 0; i <= t->n; i++) {
		if (!array_entry(t, i, &entry) || entry < last)
			return false;
		last = entry;
	}
	return true;
}

/* Parses the header at @t->all; entries are converted once the text address is known. */
static int parse_header(struct gopclntab *t)
{
	uint32_t magic;
	uint64_t n;

	if (!get32(&t->all, 0, &magic) || !get64(&t->all, 8, &n))
		return -EBADMSG;
	t->quantum = t->all.data[6];
	t->fmt = NULL;
	for (size_t i = FORMAT_1_13; i < FORMAT_MAX; i++)
		if (formats[i].magic == magic)
			t->fmt = &formats[i];
	if (!t->fmt || !n || n > t->all.len / 8)
		return -EBADMSG;
	t->n = n;
	return t->fmt->cu ? parse_1_16(t) : parse_1_2(t);
}

/* In the older tables of position-independent files, addresses are relocations. */
static int copy_relocated(struct gopclntab *t)
{
	size_t len = t->all.len < COPY_MAX ? t->all.len : COPY_MAX;

	free(t->copy);
	t->copy = malloc(len);
	if (!t->copy)
		return -ENOMEM;
	memcpy(t->copy, t->all.data, len);
	gomodule_relocate(t->img, t->vaddr, t->copy, len);
	t->all = (struct range){ t->copy, len };
	return parse_header(t);
}

static int accept_table(void *ctx, const struct elf_span *at)
{
	struct gopclntab *t = ctx;
	int r;

	t->all = (struct range){ at->data, at->len };
	t->vaddr = at->vaddr;
	r = parse_header(t);
	if (!r && t->fmt->addr_len == 8 && elf_image_type(t->img) == ET_DYN)
		r = copy_relocated(t);
	if (!r && !is_sorted(t))
		r = -EBADMSG;
	return r;
}

/*
 * Distinguishes the three formats that share a magic number. Go 1.12 put a function id and a
 * one-byte count where a 32-bit count had been, which was always below 256.
 */
static const struct format *old_format(const struct gopclntab *t)
{
	struct range rec;
	uint32_t tail;

	for (size_t i = 0; i < t->n; i++)
		if (record_at(t, i, &rec) && get32(&rec, t->fmt->tail, &tail) && tail >> 24)
			return &formats[gomodule_has_buildinfo(t->img) ? FORMAT_1_13 : FORMAT_1_12];
	return &formats[FORMAT_1_2];
}

/* Finds the base of offsets, in the module data, or in the header up to Go 1.25. */
static int find_text(struct gopclntab *t, struct err *err)
{
	struct gomodule_key key = {
		.table_vaddr = t->vaddr,
		.n_funcs = t->n,
	};
	struct gomodule_data data = { 0 };
	uint8_t header[8];
	uint64_t off;

	array_entry(t, 0, &key.first_off);
	array_entry(t, t->n, &key.end_off);
	if (gomodule_find_data(t->img, &key, &data) < 0) {
		memcpy(header, t->all.data + HEADER_TEXT, sizeof(header));
		gomodule_relocate(t->img, t->vaddr + HEADER_TEXT, header, sizeof(header));
		memcpy(&data.text, header, sizeof(header));
	}
	if (elf_image_offset_of(t->img, data.text + key.first_off, &off) < 0)
		return err_set(
			err, -EBADMSG,
			"cannot find the module data that locates the Go function table (pclntab)");
	t->text = data.text;
	t->gofunc = data.gofunc;
	return 0;
}

/*
 * Ids of special functions are renumbered from release to release; that of
 * wrappers is always the last (internal/abi/symtab.go).
 */
static uint8_t highest_id(const struct gopclntab *t)
{
	struct range rec;
	uint32_t tail;
	uint8_t id = 0;

	if (t->fmt->wide_count)
		return 0;
	for (size_t i = 0; i < t->n && i < WRAPPER_SEARCH; i++)
		if (record_at(t, i, &rec) && get32(&rec, t->fmt->tail, &tail) && (uint8_t)tail > id)
			id = tail;
	return id;
}

int gopclntab_open(struct gopclntab **out, const struct elf_image *img, struct err *err)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->img = img;
	if (gomodule_find_table(img, accept_table, t) < 0)
		return err_set(err, -ENOENT, "no Go function table (pclntab)");

	if (t->fmt == &formats[FORMAT_1_13])
		t->fmt = old_format(t);
	if (t->fmt->relative) {
		r = find_text(t, err);
		if (r < 0)
			return r;
	}
	t->wrapper_id = highest_id(t);
	*out = steal_ptr(&t);
	return 0;
}

void gopclntab_free(struct gopclntab *t)
{
	if (!t)
		return;
	free(t->copy);
	free(t);
}

size_t gopclntab_count(const struct gopclntab *t)
{
	return t->n;
}

static int func_read(const struct gopclntab *t, size_t i, struct func *f)
{
	uint32_t tail;

	if (i >= t->n)
		return -ENOENT;
	*f = (struct func){ 0 };
	if (!record_at(t, i, &f->rec) || !array_entry(t, i, &f->start) ||
	    !array_entry(t, i + 1, &f->end) || f->end < f->start)
		return -EBADMSG;
	if (!get32(&f->rec, FUNC_N_PCDATA, &f->n_pcdata) || !get32(&f->rec, t->fmt->tail, &tail))
		return -EBADMSG;
	if (t->fmt->cu && !get32(&f->rec, t->fmt->cu, &f->cu))
		return -EBADMSG;
	if (t->fmt->start_line && !get32(&f->rec, t->fmt->start_line, &f->start_line))
		return -EBADMSG;
	if (t->fmt->wide_count) {
		f->n_funcdata = tail;
		return 0;
	}
	f->id = tail;
	f->flags = tail >> 8;
	f->n_funcdata = tail >> 24;
	return 0;
}

static const char *func_name(const struct gopclntab *t, const struct func *f)
{
	uint32_t off;
	const char *name = NULL;

	if (get32(&f->rec, FUNC_NAME, &off) && off)
		name = get_string(&t->names, off);
	return name ? name : "";
}

int gopclntab_func_at(const struct gopclntab *t, size_t i, struct gopclntab_func *out)
{
	struct func f;
	int r = func_read(t, i, &f);

	if (r < 0)
		return r;
	*out = (struct gopclntab_func){
		.start = f.start,
		.end = f.end,
		.name = func_name(t, &f),
		.index = i,
		.flags = f.flags,
	};
	return 0;
}

/* The last function that starts at or below @vaddr. */
static int find_index(const struct gopclntab *t, uint64_t vaddr, size_t *out)
{
	size_t lo = 0, hi = t->n;
	uint64_t entry;

	if (!array_entry(t, 0, &entry) || vaddr < entry)
		return -ENOENT;
	if (!array_entry(t, t->n, &entry) || vaddr >= entry)
		return -ENOENT;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (!array_entry(t, mid, &entry))
			return -EBADMSG;
		if (entry <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	*out = lo;
	return 0;
}

int gopclntab_find(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_func *out)
{
	size_t i;
	int r = find_index(t, vaddr, &i);

	return r < 0 ? r : gopclntab_func_at(t, i, out);
}

static bool run_varint(struct run *run, uint32_t *out)
{
	uint32_t v = 0;

	for (unsigned int shift = 0; shift < 35 && run->p < run->stop; shift += 7) {
		uint8_t b = *run->p++;

		v |= (uint32_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

/* A table of values at @off of the function @f; false if the function has none. */
static bool run_begin(const struct gopclntab *t, const struct func *f, uint32_t off,
		      struct run *run)
{
	if (!off || off >= t->pcs.len)
		return false;
	*run = (struct run){
		.p = t->pcs.data + off,
		.stop = t->pcs.data + t->pcs.len,
		.end = f->start,
		.value = -1,
	};
	return true;
}

/* Reads the next run, which is never empty; false at the table's end. */
static bool run_next(const struct gopclntab *t, const struct func *f, struct run *run)
{
	uint32_t delta, len;

	if (!run_varint(run, &delta) || (!delta && run->any) || !run_varint(run, &len) || !len)
		return false;
	run->value += (int32_t)(-(delta & 1) ^ (delta >> 1));
	run->start = run->end;
	run->end += (uint64_t)len * t->quantum;
	run->any = true;
	return run->start < f->end;
}

/* The value at @vaddr in the table at @off, or -1, which also is the table's own "none". */
static int32_t value_at(const struct gopclntab *t, const struct func *f, uint32_t off,
			uint64_t vaddr)
{
	struct run run;

	if (!run_begin(t, f, off, &run))
		return -1;
	for (unsigned int i = 0; i < RUNS_MAX && run_next(t, f, &run); i++)
		if (vaddr < run.end)
			return run.value;
	return -1;
}

static int32_t field_at(const struct gopclntab *t, const struct func *f, unsigned int field,
			uint64_t vaddr)
{
	uint32_t off;

	return get32(&f->rec, field, &off) ? value_at(t, f, off, vaddr) : -1;
}

int gopclntab_spdeltas(const struct gopclntab *t, size_t i, gopclntab_spdelta_fn fn, void *ctx)
{
	struct run run;
	struct func f;
	uint32_t off;
	int r = func_read(t, i, &f);

	if (r < 0)
		return r;
	if (!get32(&f.rec, FUNC_PCSP, &off) || !run_begin(t, &f, off, &run))
		return 0;
	while (run_next(t, &f, &run)) {
		r = fn(ctx, run.start, run.end < f.end ? run.end : f.end, run.value);
		if (r)
			return r;
	}
	return 0;
}

static const char *file_name(const struct gopclntab *t, const struct func *f, int32_t file)
{
	const char *name = NULL;
	uint32_t off;

	if (file >= 0 && get32(&t->cus, ((uint64_t)f->cu + file) * 4, &off))
		name = get_string(&t->files, off);
	return name ? name : "";
}

/* Entry @index of the function's inline tree. */
static bool inline_entry(const struct gopclntab *t, const struct func *f, int32_t index,
			 struct range *out)
{
	uint64_t off = (uint64_t)t->fmt->tail + 4 + (uint64_t)f->n_pcdata * 4, tree;
	uint32_t short_tree;
	struct elf_span s;

	if (t->fmt->inl_funcdata >= f->n_funcdata || f->n_funcdata > FUNCDATA_MAX)
		return false;
	if (t->fmt->relative) {
		off += (uint64_t)t->fmt->inl_funcdata * 4;
		if (!t->gofunc || !get32(&f->rec, off, &short_tree) || short_tree == UINT32_MAX)
			return false;
		tree = t->gofunc + short_tree;
	} else {
		/*
		 * addresses are aligned to 8, relative to the record, whose second field is at byte
		 * 8
		 */
		off = (off + 7) / 8 * 8 + (uint64_t)t->fmt->inl_funcdata * 8;
		if (!get64(&f->rec, off, &tree) || !tree)
			return false;
	}
	if (elf_image_at_vaddr(t->img, tree + (uint64_t)index * t->fmt->inl_len, t->fmt->inl_len,
			       &s) < 0)
		return false;
	*out = (struct range){ s.data, s.len };
	return true;
}

static int32_t inline_index(const struct gopclntab *t, const struct func *f, uint64_t vaddr)
{
	if (t->fmt->inl_pcdata >= f->n_pcdata)
		return -1;
	return field_at(t, f, t->fmt->tail + 4 + t->fmt->inl_pcdata * 4u, vaddr);
}

/* The place of a frame: a position in the source, and the inlined call that it is in, or -1. */
struct position {
	int32_t file, line, index;
};

static struct position position_at(const struct gopclntab *t, const struct func *f, uint64_t vaddr)
{
	return (struct position){
		.file = field_at(t, f, FUNC_PCFILE, vaddr),
		.line = field_at(t, f, FUNC_PCLN, vaddr),
		.index = inline_index(t, f, vaddr),
	};
}

/*
 * Makes the inlined call at @pos a frame and sets @pos to the place of the call. The index of a
 * call is higher than its parent's, so this ends.
 */
static bool pop_inlined(const struct gopclntab *t, const struct func *f, struct position *pos,
			struct gopclntab_frame *out, uint8_t *out_id)
{
	struct position caller;
	struct range e;
	uint32_t w[5] = { 0 };
	const char *name;

	if (!inline_entry(t, f, pos->index, &e))
		return false;
	memcpy(w, e.data, e.len);
	if (t->fmt->start_line) { /* {id, name, pc of the call, start line} */
		name = get_string(&t->names, w[1]);
		caller = position_at(t, f, f->start + w[2]);
	} else { /* {parent and, since Go 1.12, id; file, line, name} */
		name = get_string(&t->names, w[3]);
		caller = (struct position){ w[1], w[2],
					    t->fmt->wide_count ? (int32_t)w[0] : (int16_t)w[0] };
	}
	if (!name || !*name || caller.index >= pos->index)
		return false;

	*out = (struct gopclntab_frame){
		.function = name,
		.file = file_name(t, f, pos->file),
		.line = pos->line < 0 ? 0 : pos->line,
		.start_line = t->fmt->start_line ? w[3] : 0,
	};
	*out_id = t->fmt->start_line ? w[0] : t->fmt->wide_count ? 0 : w[0] >> 16;
	*pos = caller;
	return true;
}

/*
 * Wrappers that the compiler generates are omitted if their callee is inlined into them, as in Go's
 * own tracebacks and profiles.
 */
static void push_frame(const struct gopclntab *t, struct gopclntab_frame *out, size_t *n,
		       const struct gopclntab_frame *frame, uint8_t id)
{
	if (!*n || !id || id != t->wrapper_id)
		out[(*n)++] = *frame;
}

int gopclntab_frames(const struct gopclntab *t, uint64_t vaddr, struct gopclntab_frame *out,
		     size_t out_cap)
{
	struct gopclntab_frame frame;
	struct position pos;
	uint8_t id;
	struct func f;
	size_t i, n = 0;
	int r = find_index(t, vaddr, &i);

	if (!r)
		r = func_read(t, i, &f);
	if (r < 0 || !out_cap)
		return -ENOENT;

	pos = position_at(t, &f, vaddr);
	while (pos.index >= 0 && n < out_cap && n < GOPCLNTAB_FRAMES_MAX - 1) {
		if (!pop_inlined(t, &f, &pos, &frame, &id))
			break;
		push_frame(t, out, &n, &frame, id);
	}
	frame = (struct gopclntab_frame){
		.function = func_name(t, &f),
		.file = file_name(t, &f, pos.file),
		.line = pos.line < 0 ? 0 : pos.line,
		.start_line = f.start_line,
	};
	if (n < out_cap)
		push_frame(t, out, &n, &frame, f.id);
	return n;
}
