/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linkers write one form of the search table, and compilers one form of
 * addresses in what it leads to: 32 bits, relative to the table and to the
 * place itself. Other forms are taken for no table.
 */
#include "elf/eh_frame_hdr.h"

#include <elf.h>
#include <errno.h>

#include "elf/eh_cursor.h"
#include "elf/image.h"

enum {
	ENTRY_LEN = 8, /* where a function begins, and where its FDE is */
	FDE_LEN = 16,  /* of an FDE: its length, its CIE, the function's beginning and length */
};

struct header {
	struct eh_frame_source src;
	struct eh_cursor rest; /* behind @frame */
	uint8_t count, form;   /* encodings of the table's length and of its numbers */
	uint64_t frame;        /* where .eh_frame is */
};

struct table {
	uint64_t base; /* what its numbers count from */
	const uint8_t *entries;
	uint64_t n;
};

static int32_t signed_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Version 1, three encodings, then the pointer to .eh_frame. */
static int header_begin(const struct elf_image *img, struct header *h)
{
	struct eh_cursor *c = &h->rest;
	uint8_t frame;

	h->src = (struct eh_frame_source){ 0 };
	if (elf_image_phdr(img, PT_GNU_EH_FRAME, &h->src.span) < 0)
		return -ENOENT;
	h->src.data_base = h->src.span.vaddr;
	*c = (struct eh_cursor){ .src = &h->src,
				 .p = h->src.span.data,
				 .end = h->src.span.data + h->src.span.len };
	if (eh_take_uint(c, 1) != 1)
		return -ENOENT;
	frame = (uint8_t)eh_take_uint(c, 1);
	h->count = (uint8_t)eh_take_uint(c, 1);
	h->form = (uint8_t)eh_take_uint(c, 1);
	return eh_take_address(c, frame, &h->frame) && !c->bad ? 0 : -ENOENT;
}

int eh_frame_hdr_frame(const struct elf_image *img, uint64_t *out_vaddr)
{
	struct header h;
	int r = header_begin(img, &h);

	if (r == 0)
		*out_vaddr = h.frame;
	return r;
}

static int table_open(struct table *t, const struct elf_image *img)
{
	struct header h;
	uint64_t count;

	if (header_begin(img, &h) < 0 || h.form != (EH_PE_DATAREL | EH_PE_SDATA4) ||
	    !eh_take_address(&h.rest, h.count, &count) || h.rest.bad)
		return -ENOENT;
	t->base = h.src.span.vaddr;
	t->entries = h.rest.p;
	t->n = (uint64_t)(h.rest.end - h.rest.p) / ENTRY_LEN;
	if (t->n > count)
		t->n = count;
	return 0;
}

/* The last entry that begins at or before @vaddr, or NULL. */
static const uint8_t *table_find(const struct table *t, uint64_t vaddr)
{
	uint64_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (t->base + (uint64_t)(int64_t)signed_at(t->entries + mid * ENTRY_LEN) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? t->entries + (lo - 1) * ENTRY_LEN : NULL;
}

int eh_frame_function_at(const struct elf_image *img, uint64_t vaddr, uint64_t *out_start)
{
	const uint8_t *entry;
	struct elf_span span;
	uint64_t start, fde;
	struct table t;

	if (table_open(&t, img) < 0)
		return -ENOENT;
	entry = table_find(&t, vaddr);
	if (!entry)
		return -ENOENT;
	start = t.base + (uint64_t)(int64_t)signed_at(entry);
	fde = t.base + (uint64_t)(int64_t)signed_at(entry + 4);
	if (elf_image_at_vaddr(img, fde, FDE_LEN, &span) < 0 ||
	    fde + 8 + (uint64_t)(int64_t)signed_at(span.data + 8) != start ||
	    vaddr - start >= (uint32_t)signed_at(span.data + 12))
		return -ENOENT;
	*out_start = start;
	return 0;
}
