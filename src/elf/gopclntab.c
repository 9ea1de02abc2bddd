/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries of Go's runtime function table. A lookup costs at most RUNS_MAX steps per table;
 * iterating over all stack depths costs at most one step per byte of text.
 */
#include "elf/gopclntab.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "elf/gopclntab_table.h"
#include "elf/image.h"

enum {
	RUNS_MAX = 1 << 18, /* runs of one table of values in one lookup */
	FUNCDATA_MAX = 256,
};

/* Offsets of fields in a function's record, equal in all formats. */
enum { FUNC_NAME = 0, FUNC_PCSP = 12, FUNC_PCFILE = 16, FUNC_PCLN = 20, FUNC_N_PCDATA = 24 };

/* A function's record. */
struct func {
	struct gotab_range rec; /* from its second field to the end of the table */
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

int gopclntab_open(struct gopclntab **out, const struct elf_image *img, struct err *err)
{
	return gotab_open(out, img, err);
}

void gopclntab_free(struct gopclntab *t)
{
	gotab_free(t);
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
	if (!gotab_record(t, i, &f->rec) || !gotab_entry(t, i, &f->start) ||
	    !gotab_entry(t, i + 1, &f->end) || f->end < f->start)
		return -EBADMSG;
	if (!gotab_get32(&f->rec, FUNC_N_PCDATA, &f->n_pcdata) ||
	    !gotab_get32(&f->rec, t->fmt->tail, &tail))
		return -EBADMSG;
	if (t->fmt->cu && !gotab_get32(&f->rec, t->fmt->cu, &f->cu))
		return -EBADMSG;
	if (t->fmt->start_line && !gotab_get32(&f->rec, t->fmt->start_line, &f->start_line))
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

	if (gotab_get32(&f->rec, FUNC_NAME, &off) && off)
		name = gotab_string(&t->names, off);
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

	if (!gotab_entry(t, 0, &entry) || vaddr < entry)
		return -ENOENT;
	if (!gotab_entry(t, t->n, &entry) || vaddr >= entry)
		return -ENOENT;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (!gotab_entry(t, mid, &entry))
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

	return gotab_get32(&f->rec, field, &off) ? value_at(t, f, off, vaddr) : -1;
}

int gopclntab_spdeltas(const struct gopclntab *t, size_t i, gopclntab_spdelta_fn fn, void *ctx)
{
	struct run run;
	struct func f;
	uint32_t off;
	int r = func_read(t, i, &f);

	if (r < 0)
		return r;
	if (!gotab_get32(&f.rec, FUNC_PCSP, &off) || !run_begin(t, &f, off, &run))
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

	if (file >= 0 && gotab_get32(&t->cus, ((uint64_t)f->cu + file) * 4, &off))
		name = gotab_string(&t->files, off);
	return name ? name : "";
}

/* Entry @index of the function's inline tree. */
static bool inline_entry(const struct gopclntab *t, const struct func *f, int32_t index,
			 struct gotab_range *out)
{
	uint64_t off = (uint64_t)t->fmt->tail + 4 + (uint64_t)f->n_pcdata * 4, tree;
	uint32_t short_tree;
	struct elf_span s;

	if (t->fmt->inl_funcdata >= f->n_funcdata || f->n_funcdata > FUNCDATA_MAX)
		return false;
	if (t->fmt->relative) {
		off += (uint64_t)t->fmt->inl_funcdata * 4;
		if (!t->gofunc || !gotab_get32(&f->rec, off, &short_tree) ||
		    short_tree == UINT32_MAX)
			return false;
		tree = t->gofunc + short_tree;
	} else {
		/*
		 * addresses are aligned to 8, relative to the record, whose second field is at byte
		 * 8
		 */
		off = (off + 7) / 8 * 8 + (uint64_t)t->fmt->inl_funcdata * 8;
		if (!gotab_get64(&f->rec, off, &tree) || !tree)
			return false;
	}
	if (elf_image_at_vaddr(t->img, tree + (uint64_t)index * t->fmt->inl_len, t->fmt->inl_len,
			       &s) < 0)
		return false;
	*out = (struct gotab_range){ s.data, s.len };
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
	struct gotab_range e;
	uint32_t w[5] = { 0 };
	const char *name;

	if (!inline_entry(t, f, pos->index, &e))
		return false;
	memcpy(w, e.data, e.len);
	if (t->fmt->start_line) { /* {id, name, pc of the call, start line} */
		name = gotab_string(&t->names, w[1]);
		caller = position_at(t, f, f->start + w[2]);
	} else { /* {parent and, since Go 1.12, id; file, line, name} */
		name = gotab_string(&t->names, w[3]);
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
