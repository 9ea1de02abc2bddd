/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: DWARF 5, 6.4, and the LSB's .eh_frame. A section is
 * read twice: once to list its functions (FDEs) and the CIEs they share, then,
 * in the order that the caller wants, to replay each function's program. A
 * CIE's initial instructions run once; a function starts with a copy of the
 * state they left. Nothing is allocated a function or a row.
 *
 * A malformed length ends the listing, a malformed program only its function.
 * Pointers through memory (DW_EH_PE_indirect) are refused: no linker uses them
 * for code addresses. .eh_frame_hdr's search table is not read: it can lie,
 * and all functions are wanted anyway.
 */
#include "elf/eh_frame.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_APPLICATION = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

enum {
	CFA_ADVANCE_LOC = 0x40, /* the high two bits, as of the next two */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_GNU_WINDOW_SAVE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct eh_frame_cie {
	uint64_t off; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint32_t insns;
	uint32_t insns_len;
	struct cfi_state initial;
	uint8_t ra_reg;
	uint8_t encoding; /* of code addresses */
	bool has_z;
	bool signal;
	bool usable;
};

/* Reads forward in the section; a read past the end gives 0 and sets bad. */
struct cursor {
	const struct eh_frame_source *src;
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t cursor_off(const struct cursor *c)
{
	return (uint64_t)(c->p - c->src->span.data);
}

static const uint8_t *take(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (n > (uint64_t)(c->end - p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

static uint64_t take_uint(struct cursor *c, unsigned int n)
{
	const uint8_t *p = take(c, n);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, n); /* ELFDATA2LSB, checked by elf_image */
	return v;
}

/* Bits past the 64th are dropped, as every other reader does. */
static uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		if (c->p == c->end) {
			c->bad = true;
			return 0;
		}
		b = *c->p++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (is_signed && shift < 64 && (b & 0x40))
		v |= -(1ULL << shift);
	return v;
}

static inline uint64_t take_uleb(struct cursor *c)
{
	if (c->p != c->end && *c->p < 0x80)
		return *c->p++;
	return take_leb(c, false);
}

static int64_t take_sleb(struct cursor *c)
{
	return (int64_t)take_leb(c, true);
}

/* A value in the format of @enc's low bits; false if there is no such format. */
static bool take_formatted(struct cursor *c, uint8_t enc, uint64_t *out)
{
	switch (enc & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		*out = take_uint(c, 8);
		return true;
	case PE_ULEB128:
		*out = take_uleb(c);
		return true;
	case PE_SLEB128:
		*out = (uint64_t)take_sleb(c);
		return true;
	case PE_UDATA2:
		*out = take_uint(c, 2);
		return true;
	case PE_SDATA2:
		*out = (uint64_t)(int16_t)take_uint(c, 2);
		return true;
	case PE_UDATA4:
		*out = take_uint(c, 4);
		return true;
	case PE_SDATA4:
		*out = (uint64_t)(int32_t)take_uint(c, 4);
		return true;
	}
	return false;
}

/* A code address; false if it is encoded in a way that has no meaning here. */
static bool take_address(struct cursor *c, uint8_t enc, uint64_t *out)
{
	uint64_t base;

	switch (enc & PE_APPLICATION) {
	case 0:
		base = 0;
		break;
	case PE_PCREL:
		base = c->src->span.vaddr + cursor_off(c);
		break;
	case PE_TEXTREL:
		base = c->src->text_base;
		break;
	case PE_DATAREL:
		base = c->src->data_base;
		break;
	default:
		return false;
	}
	if (enc == PE_OMIT || (enc & PE_INDIRECT) || !take_formatted(c, enc, out))
		return false;
	*out += base;
	return true;
}

/* ---- the CFA program ---- */

struct program {
	struct cursor c;
	const struct eh_frame_cie *cie;
	struct cfi_state st;
	int64_t cfa_off; /* of the last register + offset */
	uint64_t loc, end;
	eh_frame_row_fn fn;
	void *ctx;
	struct cfi_state stack[EH_FRAME_REMEMBER_MAX];
	unsigned int n_stack;
};

/* Where the rule of a register is kept; NULL for those that nobody needs. */
static struct cfi_value *column_of(struct cfi_state *st, const struct eh_frame_cie *cie,
				   uint64_t reg)
{
	if (reg == cie->ra_reg)
		return &st->col[CFI_RA];
	switch (reg) {
	case 3:
		return &st->col[CFI_RBX];
	case 6:
		return &st->col[CFI_RBP];
	case 7:
		return &st->col[CFI_RSP];
	}
	return NULL;
}

static void set_column(struct program *pg, uint64_t reg, struct cfi_value v)
{
	struct cfi_value *col = column_of(&pg->st, pg->cie, reg);

	if (col)
		*col = v;
}

static struct cfi_value value_of(enum cfi_how how, uint64_t reg, int64_t off)
{
	if (reg > UINT16_MAX || off < INT32_MIN || off > INT32_MAX)
		return (struct cfi_value){ .how = CFI_OUT_OF_RANGE };
	return (struct cfi_value){ .how = (uint16_t)how,
				   .reg = (uint16_t)reg,
				   .off = (int32_t)off };
}

/* An offset in units of the CIE's data alignment. */
static int64_t factored(const struct program *pg, int64_t n)
{
	int64_t v;

	return __builtin_mul_overflow(n, pg->cie->data_align, &v) ? INT64_MAX : v;
}

static struct cfi_value take_expression(struct program *pg, enum cfi_how how)
{
	uint64_t off = cursor_off(&pg->c);

	take(&pg->c, take_uleb(&pg->c));
	return value_of(how, 0, (int64_t)off);
}

/* Returns what the row's consumer returns; 0 if there is no row to tell it of. */
static int advance(struct program *pg, uint64_t to)
{
	uint64_t from = pg->loc;

	if (to <= from)
		return 0;
	pg->loc = to;
	if (from >= pg->end || !pg->fn)
		return 0;
	return pg->fn(pg->ctx, from, to < pg->end ? to : pg->end, &pg->st);
}

static inline int advance_by(struct program *pg, uint64_t delta)
{
	uint64_t to;

	if (__builtin_mul_overflow(delta, pg->cie->code_align, &delta) ||
	    __builtin_add_overflow(pg->loc, delta, &to))
		to = UINT64_MAX;
	return advance(pg, to);
}

static int set_loc(struct program *pg)
{
	uint64_t to;

	if (!take_address(&pg->c, pg->cie->encoding, &to) || to < pg->loc)
		return -EBADMSG;
	return advance(pg, to);
}

/* A restored register has the rule that the CIE gave it. */
static void restore(struct program *pg, uint64_t reg)
{
	struct cfi_value *col = column_of(&pg->st, pg->cie, reg);

	if (col)
		*col = pg->cie->initial.col[col - pg->st.col];
}

static int remember_state(struct program *pg)
{
	if (pg->n_stack == EH_FRAME_REMEMBER_MAX)
		return -EBADMSG;
	pg->stack[pg->n_stack++] = pg->st;
	return 0;
}

static int restore_state(struct program *pg)
{
	if (!pg->n_stack)
		return -EBADMSG;
	pg->st = pg->stack[--pg->n_stack];
	if (pg->st.cfa.how == CFI_REGISTER)
		pg->cfa_off = pg->st.cfa.off;
	return 0;
}

/*
 * def_cfa_register and def_cfa_offset change one half of a register + offset.
 * After an expression, the register comes with the last offset (as in libgcc;
 * libgcrypt's code relies on it), an offset alone changes nothing yet.
 */
static inline int define_half_cfa(struct program *pg, uint8_t op)
{
	struct cfi_value *cfa = &pg->st.cfa;
	uint64_t reg = cfa->reg;

	if (op == CFA_DEF_CFA_REGISTER)
		reg = take_uleb(&pg->c);
	else if (op == CFA_DEF_CFA_OFFSET)
		pg->cfa_off = (int64_t)take_uleb(&pg->c);
	else
		pg->cfa_off = factored(pg, take_sleb(&pg->c));
	if (cfa->how == CFI_UNSPECIFIED)
		return -EBADMSG;
	if (cfa->how == CFI_REGISTER || op == CFA_DEF_CFA_REGISTER)
		*cfa = value_of(CFI_REGISTER, reg, pg->cfa_off);
	return 0;
}

static void define_cfa(struct program *pg, uint64_t reg, int64_t off)
{
	pg->cfa_off = off;
	pg->st.cfa = value_of(CFI_REGISTER, reg, off);
}

/* Register rules with two operands, of which the first is the register. */
static int register_rule(struct program *pg, uint8_t op)
{
	uint64_t reg = take_uleb(&pg->c);
	struct cfi_value v;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		v = value_of(CFI_OFFSET, 0, factored(pg, (int64_t)take_uleb(&pg->c)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		v = value_of(CFI_OFFSET, 0, factored(pg, take_sleb(&pg->c)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		v = value_of(CFI_OFFSET, 0, factored(pg, -(int64_t)take_uleb(&pg->c)));
		break;
	case CFA_VAL_OFFSET:
		v = value_of(CFI_VAL_OFFSET, 0, factored(pg, (int64_t)take_uleb(&pg->c)));
		break;
	case CFA_VAL_OFFSET_SF:
		v = value_of(CFI_VAL_OFFSET, 0, factored(pg, take_sleb(&pg->c)));
		break;
	case CFA_REGISTER:
		v = value_of(CFI_REGISTER, take_uleb(&pg->c), 0);
		break;
	case CFA_EXPRESSION:
		v = take_expression(pg, CFI_EXPR);
		break;
	case CFA_VAL_EXPRESSION:
		v = take_expression(pg, CFI_VAL_EXPR);
		break;
	default:
		return -EBADMSG;
	}
	set_column(pg, reg, v);
	return 0;
}

/* Everything that is not in the high two bits of the opcode. */
static int extended_insn(struct program *pg, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return set_loc(pg);
	case CFA_ADVANCE_LOC1:
		return advance_by(pg, take_uint(&pg->c, 1));
	case CFA_ADVANCE_LOC2:
		return advance_by(pg, take_uint(&pg->c, 2));
	case CFA_ADVANCE_LOC4:
		return advance_by(pg, take_uint(&pg->c, 4));
	case CFA_MIPS_ADVANCE_LOC8:
		return advance_by(pg, take_uint(&pg->c, 8));
	case CFA_RESTORE_EXTENDED:
		restore(pg, take_uleb(&pg->c));
		return 0;
	case CFA_UNDEFINED:
		set_column(pg, take_uleb(&pg->c), value_of(CFI_UNDEFINED, 0, 0));
		return 0;
	case CFA_SAME_VALUE:
		set_column(pg, take_uleb(&pg->c), value_of(CFI_SAME, 0, 0));
		return 0;
	case CFA_REMEMBER_STATE:
		return remember_state(pg);
	case CFA_RESTORE_STATE:
		return restore_state(pg);
	case CFA_DEF_CFA:
		reg = take_uleb(&pg->c);
		define_cfa(pg, reg, (int64_t)take_uleb(&pg->c));
		return 0;
	case CFA_DEF_CFA_SF:
		reg = take_uleb(&pg->c);
		define_cfa(pg, reg, factored(pg, take_sleb(&pg->c)));
		return 0;
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		return define_half_cfa(pg, op);
	case CFA_DEF_CFA_EXPRESSION:
		pg->st.cfa = take_expression(pg, CFI_EXPR);
		return 0;
	case CFA_GNU_ARGS_SIZE:
		take_uleb(&pg->c);
		return 0;
	case CFA_GNU_WINDOW_SAVE: /* SPARC; on arm64 the return address is signed */
		return 0;
	}
	return register_rule(pg, op);
}

static int program_run(struct program *pg)
{
	int r = 0;

	while (!r && pg->c.p != pg->c.end && pg->loc < pg->end) {
		uint8_t op = *pg->c.p++;
		uint8_t low = op & 0x3f;

		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			r = advance_by(pg, low);
			break;
		case CFA_OFFSET:
			set_column(
				pg, low,
				value_of(CFI_OFFSET, 0, factored(pg, (int64_t)take_uleb(&pg->c))));
			break;
		case CFA_RESTORE:
			restore(pg, low);
			break;
		default:
			/* the most frequent of the rest */
			if (op == CFA_DEF_CFA_OFFSET)
				r = define_half_cfa(pg, op);
			else
				r = extended_insn(pg, op);
		}
		if (pg->c.bad)
			return -EBADMSG;
	}
	return r;
}

/* ---- CIEs and FDEs ---- */

static bool cie_initial_state(const struct eh_frame *ef, struct eh_frame_cie *cie)
{
	struct program pg = {
		.c = { .src = &ef->src, .p = ef->src.span.data + cie->insns },
		.cie = cie,
		.end = UINT64_MAX,
	};

	pg.c.end = pg.c.p + cie->insns_len;
	if (program_run(&pg) < 0)
		return false;
	cie->initial = pg.st;
	return true;
}

/* The letters after 'z'; those that we do not know are skipped by z's length. */
static bool cie_augmentation(struct cursor *c, const char *letters, struct eh_frame_cie *cie)
{
	uint64_t unused;
	uint8_t enc;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)take_uint(c, 1);
			break;
		case 'P':
			enc = (uint8_t)take_uint(c, 1);
			if (enc != PE_OMIT && !take_formatted(c, enc, &unused))
				return false;
			break;
		case 'L':
			take_uint(c, 1);
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

/* The header up to the initial instructions; false if it cannot be used. */
static bool cie_header(struct cursor *c, struct eh_frame_cie *cie)
{
	uint8_t version = (uint8_t)take_uint(c, 1);
	const char *augmentation = (const char *)c->p;
	const uint8_t *nul = memchr(c->p, 0, (size_t)(c->end - c->p));
	uint64_t ra;

	if (!nul || (version != 1 && version != 3 && version != 4))
		return false;
	c->p = nul + 1;
	if (!strcmp(augmentation, "eh")) {
		take_uint(c, 8); /* GCC 2's exception table */
		augmentation = "";
	}
	if (version == 4 && (take_uint(c, 1) != 8 || take_uint(c, 1) != 0))
		return false; /* address size, segment selector size */
	cie->code_align = take_uleb(c);
	cie->data_align = take_sleb(c);
	ra = version == 1 ? take_uint(c, 1) : take_uleb(c);
	if (ra > UINT8_MAX)
		return false;
	cie->ra_reg = (uint8_t)ra;
	cie->encoding = PE_ABSPTR;
	if (*augmentation == 'z') {
		uint64_t len = take_uleb(c);
		struct cursor data = *c;

		if (!take(c, len))
			return false;
		data.end = c->p;
		cie->has_z = true;
		return cie_augmentation(&data, augmentation + 1, cie) && !data.bad && !c->bad;
	}
	return !*augmentation && !c->bad;
}

/* A CFI entry's length and id fields; the cursor then ends where the entry does. */
struct entry {
	uint64_t off;
	uint64_t next; /* offset of the entry after this one */
	uint64_t cie;  /* offset of the CIE it belongs to */
	bool is_cie;
	struct cursor body;
};

/* 1 and the entry at @off, 0 if a terminator is there, or -EBADMSG. */
static int entry_at(const struct eh_frame *ef, uint64_t off, struct entry *e)
{
	const struct elf_span *span = &ef->src.span;
	struct cursor c = { .src = &ef->src, .p = span->data + off, .end = span->data + span->len };
	uint64_t len = take_uint(&c, 4), id_at, id;
	bool is64 = len == UINT32_MAX;

	if (is64)
		len = take_uint(&c, 8);
	id_at = cursor_off(&c);
	if (c.bad || len > (uint64_t)(c.end - c.p))
		return -EBADMSG;
	e->off = off;
	e->next = id_at + len;
	if (!len)
		return 0;
	c.end = c.p + len;
	if (ef->src.debug_frame) {
		id = take_uint(&c, is64 ? 8 : 4);
		e->is_cie = id == (is64 ? UINT64_MAX : UINT32_MAX);
		e->cie = id;
	} else {
		id = take_uint(&c, 4);
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

/* Reads the CIE at @off for the first time. One that lies stays, unusable. */
static int cie_add(struct eh_frame *ef, uint64_t off)
{
	struct eh_frame_cie cie = { .off = off };
	struct entry e;
	int r;

	if (ef->cies.len >= EH_FRAME_CIES_MAX)
		return -E2BIG;
	if (off < ef->src.span.len && entry_at(ef, off, &e) == 1 && e.is_cie &&
	    cie_header(&e.body, &cie)) {
		cie.insns = (uint32_t)cursor_off(&e.body);
		cie.insns_len = (uint32_t)(e.body.end - e.body.p);
		cie.usable = cie_initial_state(ef, &cie);
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

/* Lists one function; -EBADMSG if it cannot be, which the others survive. */
static int fde_add(struct eh_frame *ef, struct entry *e)
{
	struct eh_frame_fde fde = { 0 };
	const struct eh_frame_cie *cie;
	struct cursor *c = &e->body;
	uint64_t len;
	int r;

	if (ef->fdes.len >= EH_FRAME_FDES_MAX)
		return -E2BIG;
	r = cie_get(ef, e->cie, &fde.cie);
	if (r < 0)
		return r;
	cie = &ef->cies.data[fde.cie];
	if (!cie->usable || !take_address(c, cie->encoding, &fde.start) ||
	    !take_formatted(c, cie->encoding, &len))
		return -EBADMSG;
	if (cie->has_z)
		take(c, take_uleb(c));
	if (c->bad || len > UINT32_MAX)
		return -EBADMSG;
	/* Linkers that discard a function leave its FDE, with the address 0. */
	if (!len || !fde.start)
		return 0;
	fde.len = (uint32_t)len;
	fde.insns = (uint32_t)cursor_off(c);
	fde.insns_len = (uint32_t)(c->end - c->p);
	return vec_push(&ef->fdes, fde);
}

int eh_frame_read(struct eh_frame *ef, const struct eh_frame_source *src, struct err *err)
{
	uint64_t off = 0, n_bad = 0;
	struct entry e;
	int r;

	if (src->span.len > UINT32_MAX)
		return err_set(err, -E2BIG, "unwind section of %zu bytes", src->span.len);
	ef->src = *src;
	while (off < src->span.len) {
		r = entry_at(ef, off, &e);
		if (r < 0)
			return err_set(err, r, "unwind entry at %#lx runs out of its section", off);
		if (!r && src->open_ended)
			break;
		r = r && !e.is_cie ? fde_add(ef, &e) : 0;
		if (r == -EBADMSG)
			n_bad++;
		else if (r < 0)
			return err_set(err, r, "unwind section with too many functions");
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

int eh_frame_run(const struct eh_frame *ef, const struct eh_frame_fde *fde, eh_frame_row_fn fn,
		 void *ctx, struct err *err)
{
	struct program pg; /* the stack of states needs no zeroing */
	int r;

	pg.c.src = &ef->src;
	pg.c.p = ef->src.span.data + fde->insns;
	pg.c.end = pg.c.p + fde->insns_len;
	pg.c.bad = false;
	pg.cie = &ef->cies.data[fde->cie];
	pg.st = pg.cie->initial;
	pg.cfa_off = pg.st.cfa.how == CFI_REGISTER ? pg.st.cfa.off : 0;
	pg.loc = fde->start;
	pg.end = fde->start + fde->len;
	pg.fn = fn;
	pg.ctx = ctx;
	pg.n_stack = 0;
	r = program_run(&pg);
	if (r == -EBADMSG)
		return err_set(err, r, "malformed unwind program of the function at %#lx",
			       fde->start);
	return r ? r : advance(&pg, pg.end);
}

bool eh_frame_is_signal(const struct eh_frame *ef, const struct eh_frame_fde *fde)
{
	return ef->cies.data[fde->cie].signal;
}

void eh_frame_expression(const struct eh_frame *ef, const struct cfi_value *v,
			 const uint8_t **out_data, size_t *out_len)
{
	const struct elf_span *span = &ef->src.span;
	struct cursor c = { .src = &ef->src,
			    .p = span->data + (uint32_t)v->off,
			    .end = span->data + span->len };
	uint64_t len = take_uleb(&c);

	*out_data = c.p;
	*out_len = (size_t)len; /* take_expression() has seen that it fits */
}

/* ---- finding the section ---- */

static uint64_t section_base(const struct elf_image *img, const char *name)
{
	struct elf_span s;

	return elf_image_section(img, name, &s) < 0 ? 0 : s.vaddr;
}

/* From @vaddr to the end of its segment. */
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

/* .eh_frame_hdr: version 1, three encodings, then the pointer to .eh_frame. */
static int find_by_header(const struct elf_image *img, struct eh_frame_source *out)
{
	struct eh_frame_source hdr = { 0 };
	struct cursor c = { .src = &hdr };
	uint64_t vaddr;
	uint8_t enc;

	if (elf_image_phdr(img, PT_GNU_EH_FRAME, &hdr.span) < 0)
		return -ENOENT;
	hdr.data_base = hdr.span.vaddr;
	c.p = hdr.span.data;
	c.end = c.p + hdr.span.len;
	if (take_uint(&c, 1) != 1)
		return -ENOENT;
	enc = (uint8_t)take_uint(&c, 1);
	take_uint(&c, 2);
	if (!take_address(&c, enc, &vaddr) || c.bad)
		return -ENOENT;
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
