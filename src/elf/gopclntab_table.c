/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/gopclntab_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "elf/gomodule.h"
#include "elf/image.h"

enum {
	COPY_MAX = 128 << 20, /* bytes copied to apply relocations to an old table */
	NAME_MAX_LEN = 1 << 16,
	WRAPPER_SEARCH = 8192, /* functions that are searched; the runtime's are among the first */
	HEADER_TEXT = 24,      /* offset of the text address, Go 1.18 to 1.25 */
};

static const struct gotab_format formats[] = {
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

bool gotab_get32(const struct gotab_range *r, uint64_t off, uint32_t *out)
{
	if (off > r->len || r->len - off < sizeof(*out))
		return false;
	memcpy(out, r->data + off, sizeof(*out));
	return true;
}

bool gotab_get64(const struct gotab_range *r, uint64_t off, uint64_t *out)
{
	if (off > r->len || r->len - off < sizeof(*out))
		return false;
	memcpy(out, r->data + off, sizeof(*out));
	return true;
}

const char *gotab_string(const struct gotab_range *r, uint64_t off)
{
	size_t len;

	if (off >= r->len)
		return NULL;
	len = r->len - off < NAME_MAX_LEN ? r->len - off : NAME_MAX_LEN;
	return memchr(r->data + off, 0, len) ? (const char *)r->data + off : NULL;
}

/* The range from @off on; false if that is outside. */
static bool sub_range(const struct gotab_range *r, uint64_t off, struct gotab_range *out)
{
	if (off > r->len)
		return false;
	*out = (struct gotab_range){ r->data + off, r->len - off };
	return true;
}

/* Reads word @word of the function array, whose words are as wide as an entry. */
static bool array_word(const struct gopclntab *t, uint64_t word, uint64_t *out)
{
	uint32_t v;

	if (t->fmt->addr_len == 8)
		return gotab_get64(&t->funcs, word * 8, out);
	if (!gotab_get32(&t->funcs, word * 4, &v))
		return false;
	*out = v;
	return true;
}

bool gotab_entry(const struct gopclntab *t, uint64_t i, uint64_t *out)
{
	if (!array_word(t, i * 2, out))
		return false;
	*out += t->text;
	return true;
}

bool gotab_record(const struct gopclntab *t, uint64_t i, struct gotab_range *out)
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
	if (!gotab_get32(&t->funcs, (uint64_t)t->n * 16 + 8, &off) ||
	    !sub_range(&t->all, off, &t->cus))
		return -EBADMSG;
	return 0;
}

static int parse_1_16(struct gopclntab *t)
{
	struct gotab_range *const parts[] = { &t->names, &t->cus, &t->files, &t->pcs, &t->funcs };
	uint64_t off, at = t->fmt->relative ? 32 : 24;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!gotab_get64(&t->all, at + 8 * i, &off) || !sub_range(&t->all, off, parts[i]))
			return -EBADMSG;
	}
	t->records = t->funcs;
	return 0;
}

static bool is_sorted(const struct gopclntab *t)
{
	uint64_t last = 0, entry;

	for (size_t i = 0; i <= t->n; i++) {
		if (!gotab_entry(t, i, &entry) || entry < last)
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

	if (!gotab_get32(&t->all, 0, &magic) || !gotab_get64(&t->all, 8, &n))
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
	t->all = (struct gotab_range){ t->copy, len };
	return parse_header(t);
}

static int accept_table(void *ctx, const struct elf_span *at)
{
	struct gopclntab *t = ctx;
	int r;

	t->all = (struct gotab_range){ at->data, at->len };
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
static const struct gotab_format *old_format(const struct gopclntab *t)
{
	struct gotab_range rec;
	uint32_t tail;

	for (size_t i = 0; i < t->n; i++)
		if (gotab_record(t, i, &rec) && gotab_get32(&rec, t->fmt->tail, &tail) &&
		    tail >> 24)
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

	gotab_entry(t, 0, &key.first_off);
	gotab_entry(t, t->n, &key.end_off);
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
	struct gotab_range rec;
	uint32_t tail;
	uint8_t id = 0;

	if (t->fmt->wide_count)
		return 0;
	for (size_t i = 0; i < t->n && i < WRAPPER_SEARCH; i++)
		if (gotab_record(t, i, &rec) && gotab_get32(&rec, t->fmt->tail, &tail) &&
		    (uint8_t)tail > id)
			id = tail;
	return id;
}

int gotab_open(struct gopclntab **out, const struct elf_image *img, struct err *err)
{
	_cleanup_(gotab_freep) struct gopclntab *t = NULL;
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

void gotab_free(struct gopclntab *t)
{
	if (!t)
		return;
	free(t->copy);
	free(t);
}
