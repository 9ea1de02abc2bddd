/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each address the last symbol that begins at or before it decides. If that is a function of
 * the table's best level, with a size and a name, the sorted table would contain it too, since
 * nothing excludes it: it is the result if it covers the address, and if no other symbol covers the
 * address either, there is none. In all other cases (labels, symbols without a size, nested
 * functions, PLT stubs) the result depends on other symbols and requires the sorted table.
 *
 * Addresses between two requested ones share a slot, that of the next requested one; it holds the
 * last start seen in it and all symbols there.
 */
#include "elf/symtab_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/symbol_candidates.h"

enum { ALIASES_MAX = 12 };

struct slot {
	bool covered; /* a symbol covers the address */
	size_t n;     /* if above ALIASES_MAX, not all are stored */
	struct candidate same[ALIASES_MAX];
};

struct few {
	const uint64_t *vaddrs;
	size_t n;
	struct slot slots[ELF_SCAN_MAX];
};

/* Index of the first requested address that is not before @vaddr. */
static size_t slot_of(const struct few *f, uint64_t vaddr)
{
	return bisect(f->n, i, f->vaddrs[i] < vaddr);
}

static void put(struct slot *s, const struct candidate *c)
{
	if (s->n && c->vaddr < s->same[0].vaddr)
		return;
	if (s->n && c->vaddr > s->same[0].vaddr)
		s->n = 0;
	if (s->n < ALIASES_MAX)
		s->same[s->n] = *c;
	s->n++;
}

static int take(struct candidates *cs, struct candidate c, uint64_t size)
{
	struct few *f = cs->ctx;
	size_t at = slot_of(f, c.vaddr);

	if (at == f->n)
		return 0;
	/* most symbols neither are the last before an address nor cover it */
	if (f->slots[at].n && c.vaddr < f->slots[at].same[0].vaddr &&
	    f->vaddrs[at] - c.vaddr >= size)
		return 0;
	if (!candidates_clip(cs, &c, size))
		return 0;
	for (size_t i = at; i < f->n && f->vaddrs[i] - c.vaddr < c.size; i++)
		f->slots[i].covered = true;
	put(&f->slots[at], &c);
	return 0;
}

static void add_name(struct candidates *cs, const struct candidate *c, struct buf *names,
		     struct elf_scan_result *out)
{
	struct alias_name name = candidates_name(cs, c);

	*out = (struct elf_scan_result){ ELF_SCAN_FOUND, names->len };
	buf_put(names, name.s, name.len);
	buf_put_byte(names, '\0');
}

/*
 * Decides the result of address @i. @last: the slot that has the last start before it; NULL if
 * there is none.
 */
static void judge(struct candidates *cs, const struct slot *last, size_t i, uint8_t level,
		  struct buf *names, struct elf_scan_result *out)
{
	const struct few *f = cs->ctx;
	struct candidate best;

	*out = (struct elf_scan_result){ ELF_SCAN_UNKNOWN, 0 };
	if (!last) {
		out->verdict = ELF_SCAN_NONE;
		return;
	}
	if (last->n > ALIASES_MAX)
		return;
	best = candidates_choose(cs, last->same, last->n);
	if (best.level != level || !best.size || !candidates_have_name(cs, &best))
		return;
	if (f->vaddrs[i] - best.vaddr < best.size)
		add_name(cs, &best, names, out);
	else if (!f->slots[i].covered)
		out->verdict = ELF_SCAN_NONE;
}

int elf_symtab_scan(const struct elf_image *img, enum elf_symtab_source source,
		    const uint64_t *vaddrs, size_t n, struct elf_scan_result *out,
		    struct buf *names)
{
	_cleanup_(freep) struct few *f = calloc(1, sizeof(*f));
	_cleanup_(candidates_fini) struct candidates cs = { .img = img, .take = take, .ctx = f };
	uint8_t level = source == ELF_SYMTAB ? LEVEL_SYMTAB_FUNCTION : LEVEL_DYNSYM_FUNCTION;
	const struct slot *last = NULL;
	int r;

	if (!f)
		return -ENOMEM;
	if (n > ELF_SCAN_MAX)
		return -EINVAL;
	f->vaddrs = vaddrs;
	f->n = n;
	r = candidates_collect(&cs, source);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (f->slots[i].n)
			last = &f->slots[i];
		judge(&cs, last, i, level, names, &out[i]);
	}
	return r < 0 ? r : buf_error(names);
}
