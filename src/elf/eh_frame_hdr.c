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

static int table_open(struct table *t, const struct elf_image *img)
{
	struct eh_frame_source hdr = { 0 };
	struct eh_cursor c = { .src = &hdr };
	uint8_t version, frame, count, form;
	uint64_t v;

	if (elf_image_phdr(img, PT_GNU_EH_FRAME, &hdr.span) < 0)
		return -ENOENT;
	hdr.data_base = hdr.span.vaddr;
	c.p = hdr.span.data;
	c.end = c.p + hdr.span.len;
	version = (uint8_t)eh_take_uint(&c, 1);
	frame = (uint8_t)eh_take_uint(&c, 1);
	count = (uint8_t)eh_take_uint(&c, 1);
	form = (uint8_t)eh_take_uint(&c, 1);
	if (version != 1 || form != (EH_PE_DATAREL | EH_PE_SDATA4) ||
	    !eh_take_address(&c, frame, &v) || !eh_take_address(&c, count, &v) || c.bad)
		return -ENOENT;
	t->base = hdr.span.vaddr;
	t->entries = c.p;
	t->n = (uint64_t)(c.end - c.p) / ENTRY_LEN;
	if (t->n > v)
		t->n = v;
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
