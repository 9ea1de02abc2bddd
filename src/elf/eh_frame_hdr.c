/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linkers write one form of the search table, and compilers one form of addresses in the FDEs to
 * which it leads: 32 bits, relative to the table and to the place of the address itself. A table of
 * another form is ignored.
 */
#include "elf/eh_frame_hdr.h"

#include <elf.h>
#include <errno.h>

#include "base/bisect.h"
#include "elf/eh_cursor.h"
#include "elf/image.h"

enum {
	ENTRY_LEN = 8, /* start of a function, and address of its FDE */
	FDE_LEN =
		16, /* the start of an FDE: its length, its CIE, the function's start and length */
};

struct header {
	struct eh_frame_source src;
	struct eh_cursor rest; /* position after @frame */
	uint8_t count, form;   /* encodings of the table's length and of its numbers */
	uint64_t frame;        /* address of .eh_frame */
};

struct table {
	uint64_t base; /* address to which its numbers are relative */
	const uint8_t *entries;
	uint64_t n;
};

static int32_t signed_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Reads version 1, three encodings and the pointer to .eh_frame. */
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

static uint64_t entry_start(const struct table *t, uint64_t i)
{
	return t->base + (uint64_t)(int64_t)signed_at(t->entries + i * ENTRY_LEN);
}

/* The number of entries that begin at or before @vaddr. */
static uint64_t table_rank(const struct table *t, uint64_t vaddr)
{
	return bisect(t->n, i, entry_start(t, i) <= vaddr);
}

/* The function of entry @i; -ENOENT if its FDE does not begin there. */
static int entry_function(const struct elf_image *img, const struct table *t, uint64_t i,
			  uint64_t *start, uint64_t *end)
{
	uint64_t fde = t->base + (uint64_t)(int64_t)signed_at(t->entries + i * ENTRY_LEN + 4);
	struct elf_span span;

	*start = entry_start(t, i);
	if (elf_image_at_vaddr(img, fde, FDE_LEN, &span) < 0 ||
	    fde + 8 + (uint64_t)(int64_t)signed_at(span.data + 8) != *start)
		return -ENOENT;
	*end = *start + (uint32_t)signed_at(span.data + 12);
	return 0;
}

int eh_frame_functions_around(const struct elf_image *img, uint64_t vaddr,
			      struct eh_frame_around *out)
{
	struct eh_frame_around a = { .hi = UINT64_MAX };
	uint64_t start, end, rank;
	struct table t;

	if (table_open(&t, img) < 0)
		return -ENOENT;
	rank = table_rank(&t, vaddr);
	if (rank) {
		int r = entry_function(img, &t, rank - 1, &start, &end);

		if (r == 0 && vaddr < end) {
			*out = (struct eh_frame_around){ true, start, end };
			return 0;
		}
		a.lo = r == 0 ? end
			      : start; /* without its FDE, the end of the function is unknown */
	}
	if (rank < t.n)
		a.hi = entry_start(&t, rank);
	*out = a;
	return 0;
}
