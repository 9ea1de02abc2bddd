/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: DWARF 5, 6.4, and the LSB's .eh_frame. A section is read twice: once to
 * list its functions (FDEs) and the CIEs that they share, then, in the order that the caller
 * chooses, to replay each function's program. A CIE's initial instructions run once; a function
 * starts with a copy of the resulting state. Nothing is allocated per function or per row.
 *
 * A malformed length ends the listing, a malformed program only its function. .eh_frame_hdr's
 * search table is not used: it may be false, and all functions are needed anyway.
 */
#include "elf/eh_frame.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "elf/eh_frame_hdr.h"

struct eh_frame_cie {
	uint64_t off; /* offset in the section */
	struct cfi_common common;
	bool has_z;
	bool signal;
	bool usable;
};

/* Reads the letters after 'z'. The data of unknown ones is skipped by z's length. */
static bool cie_augmentation(struct eh_cursor *c, const char *letters, struct eh_frame_cie *cie)
{
	uint64_t unused;
	uint8_t enc;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->common.encoding = (uint8_t)eh_take_uint(c, 1);
			break;
		case 'P':
			enc = (uint8_t)eh_take_uint(c, 1);
			if (enc != EH_PE_OMIT && !eh_take_formatted(c, enc, &unused))
				return false;
			break;
		case 'L':
			eh_take_uint(c, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: pointer authentication with key B */
		case 'G': /* arm64: memory tagging */
			break;
		default:
			return true;
		}
	}
	return true;
}

/* Reads the header up to the initial instructions; false if it cannot be used. */
static bool cie_header(struct eh_cursor *c, struct eh_frame_cie *cie)
{
	uint8_t version = (uint8_t)eh_take_uint(c, 1);
	const char *augmentation = (const char *)c->p;
	const uint8_t *nul = memchr(c->p, 0, (size_t)(c->end - c->p));
	uint64_t ra;

	if (!nul || (version != 1 && version != 3 && version != 4))
		return false;
	c->p = nul + 1;
	if (!strcmp(augmentation, "eh")) {
		eh_take_uint(c, 8); /* GCC 2's exception table */
		augmentation = "";
	}
	if (version == 4 && (eh_take_uint(c, 1) != 8 || eh_take_uint(c, 1) != 0))
		return false; /* address size, segment selector size */
	cie->common.code_align = eh_take_uleb(c);
	cie->common.data_align = eh_take_sleb(c);
	ra = version == 1 ? eh_take_uint(c, 1) : eh_take_uleb(c);
	if (ra > UINT8_MAX)
		return false;
	cie->common.ra_reg = (uint8_t)ra;
	cie->common.encoding = EH_PE_ABSPTR;
	if (*augmentation == 'z') {
		uint64_t len = eh_take_uleb(c);
		struct eh_cursor data = *c;

		if (!eh_take(c, len))
			return false;
		data.end = c->p;
		cie->has_z = true;
		return cie_augmentation(&data, augmentation + 1, cie) && !data.bad && !c->bad;
	}
	return !*augmentation && !c->bad;
}

/* The length and id fields of a CFI entry; the cursor then ends at the entry's end. */
struct entry {
	uint64_t off;
	uint64_t next; /* offset of the entry after this one */
	uint64_t cie;  /* offset of its CIE */
	bool is_cie;
	struct eh_cursor body;
};

/* Reads the entry at @off: 1, 0 at a terminator, or -EBADMSG. */
static int entry_at(const struct eh_frame *ef, uint64_t off, struct entry *e)
{
	const struct elf_span *span = &ef->src.span;
	struct eh_cursor c = { .src = &ef->src,
			       .p = span->data + off,
			       .end = span->data + span->len };
	uint64_t len = eh_take_uint(&c, 4), id_at, id;
	bool is64 = len == UINT32_MAX;

	if (is64)
		len = eh_take_uint(&c, 8);
	id_at = eh_cursor_off(&c);
	if (c.bad || len > (uint64_t)(c.end - c.p))
		return -EBADMSG;
	e->off = off;
	e->next = id_at + len;
	if (!len)
		return 0;
	c.end = c.p + len;
	if (ef->src.debug_frame) {
		id = eh_take_uint(&c, is64 ? 8 : 4);
		e->is_cie = id == (is64 ? UINT64_MAX : UINT32_MAX);
		e->cie = id;
	} else {
		id = eh_take_uint(&c, 4);
		e->is_cie = !id;
		e->cie = id_at - id;
	}
	e->body = c;
	return c.bad ? -EBADMSG : 1;
}

struct cie_key {
	const struct eh_frame_cie *cies;
	uint64_t off;
};

static bool cie_is_at(const void *ctx, uint32_t id)
{
	const struct cie_key *key = ctx;

	return key->cies[id].off == key->off;
}

/* Reads the CIE at @off for the first time. An invalid one is stored as unusable. */
static int cie_add(struct eh_frame *ef, uint64_t off)
{
	struct eh_frame_cie cie = { .off = off };
	struct entry e;
	int r;

	if (ef->cies.len >= EH_FRAME_CIES_MAX)
		return -E2BIG;
	if (off < ef->src.span.len && entry_at(ef, off, &e) == 1 && e.is_cie &&
	    cie_header(&e.body, &cie)) {
		cie.usable = cfi_program_init(&cie.common, &e.body) == 0;
	}
	r = vec_push(&ef->cies, cie);
	if (r < 0)
		return r;
	return index_add(&ef->cie_at, hash_u64(off), (uint32_t)ef->cies.len - 1);
}

static int cie_get(struct eh_frame *ef, uint64_t off, uint32_t *out)
{
	struct cie_key key = { .cies = ef->cies.data, .off = off };
	int r;

	if (ef->last_cie < ef->cies.len && ef->cies.data[ef->last_cie].off == off) {
		*out = ef->last_cie;
		return 0;
	}
	if (!index_find(&ef->cie_at, hash_u64(off), cie_is_at, &key, out)) {
		r = cie_add(ef, off);
		if (r < 0)
			return r;
		*out = (uint32_t)ef->cies.len - 1;
	}
	ef->last_cie = *out;
	return 0;
}

/* Lists one function; -EBADMSG if it is invalid, which does not affect the others. */
static int fde_add(struct eh_frame *ef, struct entry *e)
{
	struct eh_frame_fde fde = { 0 };
	const struct eh_frame_cie *cie;
	struct eh_cursor *c = &e->body;
	uint64_t len;
	int r;

	if (ef->fdes.len >= EH_FRAME_FDES_MAX)
		return -E2BIG;
	r = cie_get(ef, e->cie, &fde.cie);
	if (r < 0)
		return r;
	cie = &ef->cies.data[fde.cie];
	if (!cie->usable || !eh_take_address(c, cie->common.encoding, &fde.start) ||
	    !eh_take_formatted(c, cie->common.encoding, &len))
		return -EBADMSG;
	if (cie->has_z)
		eh_take(c, eh_take_uleb(c));
	if (c->bad || len > UINT32_MAX)
		return -EBADMSG;
	/* Linkers leave the FDE of a discarded function, with the address 0. */
	if (!len || !fde.start)
		return 0;
	fde.len = (uint32_t)len;
	fde.insns = (uint32_t)eh_cursor_off(c);
	fde.insns_len = (uint32_t)(c->end - c->p);
	return vec_push(&ef->fdes, fde);
}

int eh_frame_read(struct eh_frame *ef, const struct eh_frame_source *src, struct err *err)
{
	uint64_t off = 0, n_bad = 0;
	struct entry e;
	int r;

	if (src->span.len > UINT32_MAX)
		return err_set(err, -E2BIG, "unwind section exceeds 4 GiB: %zu bytes",
			       src->span.len);
	ef->src = *src;
	while (off < src->span.len) {
		r = entry_at(ef, off, &e);
		if (r < 0)
			return err_set(err, r, "unwind entry at %#lx exceeds its section", off);
		if (!r && src->open_ended)
			break;
		r = r && !e.is_cie ? fde_add(ef, &e) : 0;
		if (r == -EBADMSG)
			n_bad++;
		else if (r < 0)
			return err_set(err, r, "unwind section has too many functions");
		off = e.next;
	}
	return n_bad ? err_set(err, -EBADMSG, "%lu malformed unwind entries", n_bad) : 0;
}

void eh_frame_fini(struct eh_frame *ef)
{
	vec_fini(&ef->fdes);
	vec_fini(&ef->cies);
	index_fini(&ef->cie_at);
}

int eh_frame_run(const struct eh_frame *ef, const struct eh_frame_fde *fde, cfi_row_fn fn,
		 void *ctx, struct err *err)
{
	int r = cfi_program_run(&ef->cies.data[fde->cie].common, &ef->src, fde, fn, ctx);

	if (r == -EBADMSG)
		err_set(err, r, "malformed unwind program of the function at %#lx", fde->start);
	return r;
}

bool eh_frame_is_signal(const struct eh_frame *ef, const struct eh_frame_fde *fde)
{
	return ef->cies.data[fde->cie].signal;
}

void eh_frame_expression(const struct eh_frame *ef, const struct cfi_value *v,
			 const uint8_t **out_data, size_t *out_len)
{
	const struct elf_span *span = &ef->src.span;
	struct eh_cursor c = { .src = &ef->src,
			       .p = span->data + (uint32_t)v->off,
			       .end = span->data + span->len };
	uint64_t len = eh_take_uleb(&c);

	/*
	 * take_expression() has checked that it fits, but the file is mapped, so its owner may have
	 * changed the length since.
	 */
	*out_data = c.p;
	*out_len = len <= (size_t)(c.end - c.p) ? (size_t)len : 0;
}

/* ---- finding the section ---- */

static uint64_t section_base(const struct elf_image *img, const char *name)
{
	struct elf_span s;

	return elf_image_section(img, name, &s) < 0 ? 0 : s.vaddr;
}

/* The span from @vaddr to the end of its segment. */
static int rest_of_segment(const struct elf_image *img, uint64_t vaddr, struct elf_span *out)
{
	const struct elf_segment *seg;
	size_t n = elf_image_segments(img, &seg);

	for (size_t i = 0; i < n; i++) {
		if (vaddr >= seg[i].vaddr && vaddr - seg[i].vaddr < seg[i].filesz)
			return elf_image_at_vaddr(
				img, vaddr, (size_t)(seg[i].filesz - (vaddr - seg[i].vaddr)), out);
	}
	return -ENOENT;
}

static int find_by_header(const struct elf_image *img, struct eh_frame_source *out)
{
	uint64_t vaddr;
	int r = eh_frame_hdr_frame(img, &vaddr);

	if (r < 0)
		return r;
	out->open_ended = true;
	return rest_of_segment(img, vaddr, &out->span);
}

int eh_frame_find(const struct elf_image *img, struct eh_frame_source *out)
{
	struct eh_frame_source s = { 0 };

	s.text_base = section_base(img, ".text");
	s.data_base = section_base(img, ".got");
	if (elf_image_section(img, ".eh_frame", &s.span) < 0 && find_by_header(img, &s) < 0) {
		if (elf_image_section(img, ".debug_frame", &s.span) < 0)
			return -ENOENT;
		s.debug_frame = true;
	}
	*out = s;
	return 0;
}
