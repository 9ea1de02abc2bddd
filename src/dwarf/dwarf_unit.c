/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses unit headers, abbreviation tables and attribute forms (DWARF 5, 7.5).
 *
 * Values are returned only for forms that names, ranges and lines use; blocks,
 * expressions and type signatures are skipped. A unit's abbreviations are
 * parsed when its DIEs are first read, and stored until they are dropped. This
 * module does not follow references; callers that do must bound their number.
 */
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
	ABBREVS_MAX = 1 << 20,
	FORM_LEN_VARIES = -1,
	FORM_LEN_ADDRESS = -2,
	FORM_LEN_OFFSET = -3,
	FORM_UNKNOWN = -4,
	INDIRECT_MAX = 4,
};

/* Returns the negative FORM_ constant of a form whose length the form alone does not determine. */
static int form_len_by_unit(uint16_t form)
{
	switch (form) {
	case DW_FORM_addr:
		return FORM_LEN_ADDRESS;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_ref_addr:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return FORM_LEN_OFFSET;
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
	case DW_FORM_string:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_indirect:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return FORM_LEN_VARIES;
	default:
		return FORM_UNKNOWN;
	}
}

/* Returns the length of a value in bytes, or one of the negative FORM_ constants. */
static int form_len_raw(uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	default:
		return form_len_by_unit(form);
	}
}

static int form_len(const struct dwarf_unit *u, uint16_t form)
{
	int len = form_len_raw(form);

	/* In DWARF 2, DW_FORM_ref_addr has the size of an address. */
	if (len == FORM_LEN_ADDRESS || (form == DW_FORM_ref_addr && u->version <= 2))
		return u->addr_len;
	return len == FORM_LEN_OFFSET ? (u->is64 ? 8 : 4) : len;
}

/* Skips a value that contains its own length. All forms that are not listed are LEB128 numbers. */
static void skip_varying(struct dwarf_cursor *c, uint16_t form)
{
	switch (form) {
	case DW_FORM_block1:
		dwarf_skip(c, dwarf_u8(c));
		return;
	case DW_FORM_block2:
		dwarf_skip(c, dwarf_u16(c));
		return;
	case DW_FORM_block4:
		dwarf_skip(c, dwarf_u32(c));
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		dwarf_skip(c, dwarf_uleb(c));
		return;
	case DW_FORM_string:
		dwarf_string(c);
		return;
	default:
		dwarf_uleb(c);
	}
}

/*
 * Skips a value whose form is not indirect, or remains so after INDIRECT_MAX steps. An unknown form
 * fails the cursor, because the length of its value, and so the position of everything after it, is
 * unknown.
 */
static void direct_skip(const struct dwarf_unit *u, struct dwarf_cursor *c, uint16_t form)
{
	int len = form_len(u, form);

	if (len >= 0)
		dwarf_skip(c, (uint64_t)len);
	else if (len == FORM_LEN_VARIES && form != DW_FORM_indirect)
		skip_varying(c, form);
	else
		dwarf_fail(c);
}

/*
 * Returns the form that a value of DW_FORM_indirect states before its data. INDIRECT_MAX bounds
 * chains of this form, which could otherwise be as long as the unit.
 */
static uint16_t direct_form(struct dwarf_cursor *c, uint16_t form)
{
	for (int i = 0; form == DW_FORM_indirect && i < INDIRECT_MAX; i++)
		form = (uint16_t)dwarf_uleb(c);
	return form;
}

static void form_skip(const struct dwarf_unit *u, struct dwarf_cursor *c, uint16_t form)
{
	direct_skip(u, c, direct_form(c, form));
}

/*
 * The string is borrowed from the section. If the section is missing or does not contain the
 * offset, the value has no class, which callers treat like an absent attribute.
 */
static struct dwarf_value string_at(const struct elf_span *s, uint64_t off)
{
	const char *str = s->data ? elf_span_string(s, off) : NULL;

	return str ? (struct dwarf_value){ .class = DWARF_STRING, .s = str }
		   : (struct dwarf_value){ 0 };
}

/* A string of dwz's alternate file; absent if that file was not found. */
static struct dwarf_value alt_string_at(const struct dwarf_unit *u, uint64_t off)
{
	if (!u->file->alt)
		return (struct dwarf_value){ 0 };
	return string_at(&u->file->alt->sections->s[DWARF_STR], off);
}

/*
 * The index is compared with the size of the section before it is multiplied, so that the product
 * cannot overflow. The same holds for dwarf_unit_address().
 */
static struct dwarf_value indexed_string(const struct dwarf_unit *u, uint64_t index)
{
	const struct elf_span *s = u->file->sections->s;
	size_t len = u->is64 ? 8 : 4;
	struct dwarf_cursor c;
	uint64_t off;

	if (index > s[DWARF_STR_OFFSETS].len / len)
		return (struct dwarf_value){ 0 };
	c = dwarf_cursor_at(&s[DWARF_STR_OFFSETS], u->str_offsets_base + index * len);
	off = dwarf_uint(&c, len);
	return c.bad ? (struct dwarf_value){ 0 } : string_at(&s[DWARF_STR], off);
}

bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *out)
{
	const struct elf_span *s = &u->addr_sections->s[DWARF_ADDR];
	struct dwarf_cursor c;

	if (index > s->len / u->addr_len)
		return false;
	c = dwarf_cursor_at(s, u->addr_base + index * u->addr_len);
	*out = dwarf_uint(&c, u->addr_len);
	return !c.bad;
}

static struct dwarf_value indexed_address(const struct dwarf_unit *u, uint64_t index)
{
	struct dwarf_value v = { .class = DWARF_ADDRESS };

	return dwarf_unit_address(u, index, &v.u) ? v : (struct dwarf_value){ 0 };
}

static struct dwarf_value value(enum dwarf_class class, uint64_t v)
{
	return (struct dwarf_value){ .class = class, .u = v };
}

/* Reads a value of a form that refers to a string, directly or by index. */
static struct dwarf_value read_string(const struct dwarf_unit *u, struct dwarf_cursor *c,
				      uint16_t form)
{
	const struct elf_span *s = u->file->sections->s;

	switch (form) {
	case DW_FORM_string:
		return (struct dwarf_value){ .class = DWARF_STRING, .s = dwarf_string(c) };
	case DW_FORM_strp:
		return string_at(&s[DWARF_STR], dwarf_offset(c, u->is64));
	case DW_FORM_line_strp:
		return string_at(&s[DWARF_LINE_STR], dwarf_offset(c, u->is64));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return alt_string_at(u, dwarf_offset(c, u->is64));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return indexed_string(u, dwarf_uleb(c));
	default: /* DW_FORM_strx1 to 4 */
		return indexed_string(u, dwarf_uint(c, (size_t)form_len(u, form)));
	}
}

/*
 * Reads a number, an offset or a reference. References within the unit become offsets in
 * .debug_info, like those of DW_FORM_ref_addr.
 */
static struct dwarf_value read_number(const struct dwarf_unit *u, struct dwarf_cursor *c,
				      uint16_t form)
{
	switch (form) {
	case DW_FORM_sdata:
		return value(DWARF_SINT, (uint64_t)dwarf_sleb(c));
	case DW_FORM_udata:
		return value(DWARF_UINT, dwarf_uleb(c));
	case DW_FORM_rnglistx:
		return value(DWARF_RANGE_INDEX, dwarf_uleb(c));
	case DW_FORM_sec_offset:
		return value(DWARF_SECTION_OFFSET, dwarf_offset(c, u->is64));
	case DW_FORM_ref_addr:
		return value(DWARF_REF, dwarf_uint(c, (size_t)form_len(u, form)));
	case DW_FORM_GNU_ref_alt:
		return value(DWARF_REF_ALT, dwarf_offset(c, u->is64));
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return value(DWARF_REF_ALT, dwarf_uint(c, (size_t)form_len(u, form)));
	case DW_FORM_ref_udata:
		return value(DWARF_REF, u->off + dwarf_uleb(c));
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		return value(DWARF_REF, u->off + dwarf_uint(c, (size_t)form_len(u, form)));
	default: /* DW_FORM_data1 to 8, DW_FORM_flag */
		return value(DWARF_UINT, dwarf_uint(c, (size_t)form_len(u, form)));
	}
}

struct dwarf_value dwarf_attr_read(const struct dwarf_unit *u, struct dwarf_cursor *c,
				   const struct dwarf_spec *spec)
{
	uint16_t form = direct_form(c, spec->form);

	switch (form) {
	case DW_FORM_string:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_str_index:
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return read_string(u, c, form);
	case DW_FORM_addr:
		return value(DWARF_ADDRESS, dwarf_uint(c, u->addr_len));
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		return indexed_address(u, dwarf_uleb(c));
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		return indexed_address(u, dwarf_uint(c, (size_t)form_len(u, form)));
	case DW_FORM_implicit_const:
		return value(DWARF_SINT, (uint64_t)spec->implicit);
	case DW_FORM_flag_present:
		return value(DWARF_UINT, 1);
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_flag:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_rnglistx:
	case DW_FORM_sec_offset:
	case DW_FORM_ref_addr:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		return read_number(u, c, form);
	default:
		direct_skip(u, c, form);
		return (struct dwarf_value){ 0 };
	}
}

/*
 * Most abbreviations have values of fixed length only and are skipped in one step. This matters
 * because a search for a function skips far more DIEs than it reads.
 */
void dwarf_attrs_skip(const struct dwarf_unit *u, struct dwarf_cursor *c,
		      const struct dwarf_abbrev *abbrev)
{
	if (abbrev->fixed_len != UINT32_MAX) {
		dwarf_skip(c, abbrev->fixed_len);
		return;
	}
	for (uint32_t i = 0; i < abbrev->n_specs && !c->bad; i++)
		form_skip(u, c, dwarf_spec(u, abbrev, i)->form);
}

/* Appends the abbreviation at @c to @a. Returns false at the table's end or on error (*@out_r). */
static bool abbrev_parse(const struct dwarf_unit *u, struct dwarf_cursor *c,
			 struct dwarf_abbrevs *a, int *out_r)
{
	struct dwarf_abbrev ab = { .code = dwarf_uleb(c) };
	int64_t fixed = 0;

	if (c->bad || !ab.code)
		return false;
	ab.tag = (uint16_t)dwarf_uleb(c);
	ab.has_children = dwarf_u8(c);
	ab.first_spec = (uint32_t)a->specs.len;
	for (;;) {
		uint64_t at = dwarf_uleb(c), form = dwarf_uleb(c);
		struct dwarf_spec spec = { (uint16_t)at, (uint16_t)form, 0 };
		int len;

		if (c->bad || (!at && !form))
			break;
		/* the only form whose value is in the abbreviation */
		if (form == DW_FORM_implicit_const)
			spec.implicit = dwarf_sleb(c);
		len = form > UINT16_MAX ? FORM_UNKNOWN : form_len(u, spec.form);
		fixed = fixed < 0 || len < 0 ? -1 : fixed + len;
		*out_r = vec_push(&a->specs, spec);
		if (*out_r < 0)
			return false;
	}
	ab.n_specs = (uint32_t)a->specs.len - ab.first_spec;
	ab.fixed_len = fixed < 0 || fixed >= UINT32_MAX ? UINT32_MAX : (uint32_t)fixed;
	*out_r = a->abbrevs.len >= ABBREVS_MAX ? -EBADMSG : vec_push(&a->abbrevs, ab);
	return *out_r == 0;
}

static void abbrevs_free(struct dwarf_abbrevs *a)
{
	if (!a)
		return;
	vec_fini(&a->abbrevs);
	vec_fini(&a->specs);
	free(a);
}

int dwarf_unit_load_abbrevs(struct dwarf_unit *u, size_t max)
{
	struct dwarf_cursor c = dwarf_cursor_at(&u->file->sections->s[DWARF_ABBREV], u->abbrev_off);
	struct dwarf_abbrevs *a = calloc(1, sizeof(*a));
	int r = 0;

	if (!a)
		return -ENOMEM;
	while (a->abbrevs.len < max && abbrev_parse(u, &c, a, &r))
		;
	if (c.bad)
		r = -EBADMSG;
	if (r < 0) {
		abbrevs_free(a);
		return r;
	}
	abbrevs_free(u->abbrevs);
	u->abbrevs = a;
	return 0;
}

int dwarf_unit_abbrevs(struct dwarf_unit *u)
{
	return u->abbrevs ? 0 : dwarf_unit_load_abbrevs(u, SIZE_MAX);
}

/* Compilers number abbreviations 1, 2, 3..., so the code is nearly always the index plus 1. */
static const struct dwarf_abbrev *abbrev_find(const struct dwarf_abbrevs *a, uint64_t code)
{
	if (code - 1 < a->abbrevs.len && a->abbrevs.data[code - 1].code == code)
		return &a->abbrevs.data[code - 1];
	for (size_t i = 0; i < a->abbrevs.len; i++)
		if (a->abbrevs.data[i].code == code)
			return &a->abbrevs.data[i];
	return NULL;
}

struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off)
{
	const struct elf_span *info = &u->file->sections->s[DWARF_INFO];

	if (off < u->die_off || off >= u->end)
		return (struct dwarf_cursor){ .bad = true };
	return (struct dwarf_cursor){ .p = info->data + off, .end = info->data + u->end };
}

/* A code of 0 ends a list of siblings; such a DIE has no abbreviation and no attributes. */
bool dwarf_die_next(const struct dwarf_unit *u, struct dwarf_cursor *c, struct dwarf_die *out)
{
	uint64_t code;

	if (c->bad || c->p >= c->end)
		return false;
	out->off = (uint64_t)(c->p - u->file->sections->s[DWARF_INFO].data);
	code = dwarf_uleb(c);
	out->abbrev = code ? abbrev_find(u->abbrevs, code) : NULL;
	if (code && !out->abbrev)
		dwarf_fail(c);
	return !c->bad;
}

/*
 * DWARF 5 added the type of the unit, with further fields for some types, and swapped address size
 * and abbreviation offset (7.5.1). abbrev_off already holds the base within a package (.dwp).
 */
static int unit_header(struct dwarf_unit *u, struct dwarf_cursor *c)
{
	const uint8_t *info = u->file->sections->s[DWARF_INFO].data;

	if (!dwarf_unit_length(c, &u->is64))
		return -EBADMSG;
	u->end = (uint64_t)(c->end - info);
	u->version = dwarf_u16(c);
	if (u->version >= 5) {
		u->type = dwarf_u8(c);
		u->addr_len = dwarf_u8(c);
		u->abbrev_off += dwarf_offset(c, u->is64);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			u->dwo_id = dwarf_u64(c);
		else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
			dwarf_skip(c, 8 + (u->is64 ? 8 : 4));
	} else {
		u->type = DW_UT_compile;
		u->abbrev_off += dwarf_offset(c, u->is64);
		u->addr_len = dwarf_u8(c);
	}
	u->die_off = (uint64_t)(c->p - info);
	if (c->bad || u->version < 2 || u->version > 5 || (u->addr_len != 8 && u->addr_len != 4))
		return -EBADMSG;
	return 0;
}

int dwarf_unit_parse(struct dwarf_unit **out, struct dwarf_file *f, uint64_t off,
		     uint64_t abbrev_base)
{
	struct dwarf_cursor c = dwarf_cursor_at(&f->sections->s[DWARF_INFO], off);
	struct dwarf_unit *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	u->file = f;
	u->off = off;
	u->abbrev_off = abbrev_base;
	u->addr_sections = u->gnu_ranges_sections = f->sections;
	r = unit_header(u, &c);
	if (r < 0) {
		free(u);
		return r;
	}
	*out = u;
	return 0;
}

void dwarf_unit_drop_abbrevs(struct dwarf_unit *u)
{
	abbrevs_free(u->abbrevs);
	u->abbrevs = NULL;
}

void dwarf_unit_free(struct dwarf_unit *u)
{
	if (!u)
		return;
	dwarf_unit_drop_abbrevs(u);
	free(u);
}

size_t dwarf_unit_bytes(const struct dwarf_unit *u)
{
	size_t n = sizeof(*u);

	if (u->abbrevs)
		n += sizeof(*u->abbrevs) + u->abbrevs->abbrevs.cap * sizeof(struct dwarf_abbrev) +
		     u->abbrevs->specs.cap * sizeof(struct dwarf_spec);
	return n;
}
