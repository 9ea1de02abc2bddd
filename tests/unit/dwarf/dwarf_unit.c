/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/dwarf/dwarf_unit.c src/dwarf/dwarf_file.c */
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "tests/test.h"
#include "tests/unit/dwarf/fixture.h"

/* ---- units ----------------------------------------------------------------------- */

/* Appends a unit without DIEs whose header has these fields. */
static void put_header(struct dwarf_fixture *f, bool is64, uint16_t version, uint8_t type,
		       uint8_t addr_len)
{
	struct buf *b = &f->s[DWARF_INFO];
	size_t offset_len = is64 ? 8 : 4, ids = 0;
	uint64_t len;

	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		ids = 8;
	else if (type == DW_UT_type || type == DW_UT_split_type)
		ids = 8 + offset_len;
	len = 2 + (version >= 5) + 1 + offset_len + ids;
	if (is64)
		put_uint(b, UINT32_MAX, 4);
	put_uint(b, len, offset_len);
	put_uint(b, version, 2);
	if (version >= 5)
		PUT(b, type, addr_len);
	put_uint(b, 0x77, offset_len);
	if (version < 5)
		PUT(b, addr_len);
	for (size_t i = 0; i < ids; i++)
		PUT(b, (uint8_t)(i + 1));
}

static void reads_the_headers_of_all_versions_and_formats(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t n = 0;

	for (uint16_t version = 2; version <= 5; version++)
		for (int is64 = 0; is64 < 2; is64++)
			for (uint8_t addr_len = 4; addr_len <= 8;
			     addr_len = (uint8_t)(addr_len + 4))
				put_header(f, is64, version, DW_UT_compile, addr_len);
	dwarf_fixture_load(f);
	assert_int_equal(dwarf_file_scan(&f->file), 0);
	assert_int_equal(f->file.units.len, 16);
	for (uint16_t version = 2; version <= 5; version++)
		for (int is64 = 0; is64 < 2; is64++)
			for (uint8_t addr_len = 4; addr_len <= 8;
			     addr_len = (uint8_t)(addr_len + 4)) {
				const struct dwarf_unit *u = f->file.units.data[n++];

				assert_int_equal(u->version, version);
				assert_int_equal(u->is64, is64);
				assert_int_equal(u->addr_len, addr_len);
				assert_int_equal(u->abbrev_off, 0x77);
				assert_int_equal(u->type, DW_UT_compile);
				assert_int_equal(u->die_off, u->end);
			}
}

static void reads_the_ids_of_split_and_type_units(void **state)
{
	struct dwarf_fixture *f = *state;

	put_header(f, false, 5, DW_UT_skeleton, 8);
	put_header(f, true, 5, DW_UT_split_compile, 8);
	put_header(f, false, 5, DW_UT_type, 8);
	put_header(f, true, 5, DW_UT_split_type, 8);
	dwarf_fixture_load(f);
	assert_int_equal(dwarf_file_scan(&f->file), 0);
	assert_int_equal(f->file.units.len, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct dwarf_unit *u = f->file.units.data[i];

		assert_int_equal(u->dwo_id, i < 2 ? 0x0807060504030201 : 0);
		assert_int_equal(u->die_off, u->end);
	}
}

static void skips_units_that_it_does_not_support(void **state)
{
	struct dwarf_fixture *f = *state;

	put_header(f, false, 1, DW_UT_compile, 8);
	put_header(f, false, 6, DW_UT_compile, 8);
	put_header(f, false, 4, DW_UT_compile, 2);
	put_header(f, false, 5, DW_UT_compile, 0);
	put_header(f, false, 4, DW_UT_compile, 255);
	put_header(f, false, 4, DW_UT_compile, 8);
	dwarf_fixture_load(f);
	assert_int_equal(dwarf_file_scan(&f->file), 0);
	assert_int_equal(f->file.units.len, 1);
	assert_int_equal(f->file.units.data[0]->version, 4);
}

static void keeps_the_units_before_a_malformed_length(void **state)
{
	static const uint64_t lengths[] = { 100, 0xfffffff0, 0xfffffffe };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct dwarf_fixture *f = *state;

		f->s[DWARF_INFO].len = 0;
		put_header(f, false, 4, DW_UT_compile, 8);
		put_uint(&f->s[DWARF_INFO], lengths[i], 4);
		put_uint(&f->s[DWARF_INFO], 0, 8);
		dwarf_fixture_load(f);
		assert_int_equal(dwarf_file_scan(&f->file), -EBADMSG);
		assert_int_equal(f->file.units.len, 1);
	}
}

static void a_length_of_64_bits_does_not_wrap(void **state)
{
	struct dwarf_fixture *f = *state;

	put_header(f, false, 4, DW_UT_compile, 8);
	put_uint(&f->s[DWARF_INFO], UINT32_MAX, 4);
	put_uint(&f->s[DWARF_INFO], UINT64_MAX - 10, 8);
	put_uint(&f->s[DWARF_INFO], 0, 8);
	dwarf_fixture_load(f);
	assert_int_equal(dwarf_file_scan(&f->file), -EBADMSG);
	assert_int_equal(f->file.units.len, 1);
}

static void finds_the_unit_of_an_offset(void **state)
{
	struct dwarf_fixture *f = *state;
	const struct dwarf_unit *first, *last;

	put_header(f, false, 4, DW_UT_compile, 8);
	put_header(f, false, 9, DW_UT_compile, 8); /* skipped */
	put_header(f, false, 5, DW_UT_compile, 8);
	first = dwarf_fixture_unit(f);
	assert_int_equal(f->file.units.len, 2);
	last = f->file.units.data[1];
	assert_ptr_equal(dwarf_file_unit_at(&f->file, 0), first);
	assert_ptr_equal(dwarf_file_unit_at(&f->file, first->end - 1), first);
	assert_null(dwarf_file_unit_at(&f->file, first->end));
	assert_null(dwarf_file_unit_at(&f->file, last->off - 1));
	assert_ptr_equal(dwarf_file_unit_at(&f->file, last->off), last);
	assert_null(dwarf_file_unit_at(&f->file, last->end));
	assert_null(dwarf_file_unit_at(&f->file, UINT64_MAX));
}

/* ---- forms ----------------------------------------------------------------------- */

/*
 * A value of each form, and what it reads as. The tables it refers to are those of put_tables().
 * The bytes of a number are 01 02 03..., so that its length shows.
 */
static const struct form_case {
	uint16_t form;
	uint8_t len;
	uint8_t bytes[18];
	enum dwarf_class class;
	uint64_t u;
	const char *s;
} form_cases[] = {
	{ DW_FORM_data1, 1, { 1 }, DWARF_UINT, 0x01, NULL },
	{ DW_FORM_data2, 2, { 1, 2 }, DWARF_UINT, 0x0201, NULL },
	{ DW_FORM_data4, 4, { 1, 2, 3, 4 }, DWARF_UINT, 0x04030201, NULL },
	{ DW_FORM_data8, 8, { 1, 2, 3, 4, 5, 6, 7, 8 }, DWARF_UINT, 0x0807060504030201, NULL },
	{ DW_FORM_data16, 16, { 1 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_flag, 1, { 1 }, DWARF_UINT, 1, NULL },
	{ DW_FORM_flag_present, 0, { 0 }, DWARF_UINT, 1, NULL },
	{ DW_FORM_sdata, 2, { 0xff, 0x7e }, DWARF_SINT, (uint64_t)-129, NULL },
	{ DW_FORM_udata, 2, { 0x80, 0x01 }, DWARF_UINT, 128, NULL },
	{ DW_FORM_implicit_const, 0, { 0 }, DWARF_SINT, (uint64_t)-5, NULL },
	{ DW_FORM_addr, 8, { 1, 2, 3, 4, 5, 6, 7, 8 }, DWARF_ADDRESS, 0x0807060504030201, NULL },
	{ DW_FORM_addrx, 1, { 1 }, DWARF_ADDRESS, 0x2000, NULL },
	{ DW_FORM_GNU_addr_index, 1, { 0 }, DWARF_ADDRESS, 0x1000, NULL },
	{ DW_FORM_addrx1, 1, { 1 }, DWARF_ADDRESS, 0x2000, NULL },
	{ DW_FORM_addrx2, 2, { 1 }, DWARF_ADDRESS, 0x2000, NULL },
	{ DW_FORM_addrx3, 3, { 1 }, DWARF_ADDRESS, 0x2000, NULL },
	{ DW_FORM_addrx4, 4, { 1 }, DWARF_ADDRESS, 0x2000, NULL },
	{ DW_FORM_addrx, 1, { 2 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_addrx4, 4, { 255, 255, 255, 255 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_string, 3, { 'a', 'b', 0 }, DWARF_STRING, 0, "ab" },
	{ DW_FORM_strp, 4, { 4 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_strp, 4, { 200 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_line_strp, 4, { 0 }, DWARF_STRING, 0, "line" },
	{ DW_FORM_strx, 1, { 1 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_GNU_str_index, 1, { 0 }, DWARF_STRING, 0, "one" },
	{ DW_FORM_strx1, 1, { 1 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_strx2, 2, { 1 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_strx3, 3, { 1 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_strx4, 4, { 1 }, DWARF_STRING, 0, "two" },
	{ DW_FORM_strx, 1, { 2 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_strx,
	  10,
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
	  DWARF_NONE,
	  0,
	  NULL },
	{ DW_FORM_strp_sup, 4, { 0 }, DWARF_NONE, 0, NULL }, /* There is no alternate file. */
	{ DW_FORM_GNU_strp_alt, 4, { 0 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_GNU_ref_alt, 4, { 1, 2, 3, 4 }, DWARF_REF_ALT, 0x04030201, NULL },
	{ DW_FORM_ref_sup4, 4, { 1, 2, 3, 4 }, DWARF_REF_ALT, 0x04030201, NULL },
	{ DW_FORM_ref_sup8,
	  8,
	  { 1, 0, 0, 0, 0, 0, 0, 8 },
	  DWARF_REF_ALT,
	  0x0800000000000001,
	  NULL },
	{ DW_FORM_ref_addr, 4, { 1, 2, 3, 4 }, DWARF_REF, 0x04030201, NULL },
	{ DW_FORM_ref1, 1, { 1 }, DWARF_REF, 0x01, NULL },
	{ DW_FORM_ref2, 2, { 1, 2 }, DWARF_REF, 0x0201, NULL },
	{ DW_FORM_ref4, 4, { 1, 2, 3, 4 }, DWARF_REF, 0x04030201, NULL },
	{ DW_FORM_ref8, 8, { 1, 0, 0, 0, 0, 0, 0, 8 }, DWARF_REF, 0x0800000000000001, NULL },
	{ DW_FORM_ref_udata, 2, { 0x80, 0x01 }, DWARF_REF, 128, NULL },
	{ DW_FORM_ref_sig8, 8, { 1 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_sec_offset, 4, { 1, 2, 3, 4 }, DWARF_SECTION_OFFSET, 0x04030201, NULL },
	{ DW_FORM_rnglistx, 2, { 0x80, 0x01 }, DWARF_RANGE_INDEX, 128, NULL },
	{ DW_FORM_loclistx, 2, { 0x80, 0x01 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_block1, 3, { 2, 9, 9 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_block2, 4, { 2, 0, 9, 9 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_block4, 6, { 2, 0, 0, 0, 9, 9 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_block, 3, { 2, 9, 9 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_exprloc, 3, { 2, 9, 9 }, DWARF_NONE, 0, NULL },
	{ DW_FORM_indirect, 3, { DW_FORM_data2, 1, 2 }, DWARF_UINT, 0x0201, NULL },
	{ DW_FORM_indirect, 3, { DW_FORM_indirect, DW_FORM_data1, 7 }, DWARF_UINT, 7, NULL },
	{ DW_FORM_indirect, 4, { DW_FORM_block1, 2, 9, 9 }, DWARF_NONE, 0, NULL },
};

enum { N_FORMS = sizeof(form_cases) / sizeof(*form_cases) };

static void put_tables(struct dwarf_fixture *f)
{
	buf_put(&f->s[DWARF_STR], "one\0two", 8);
	buf_put(&f->s[DWARF_LINE_STR], "line", 5);
	put_uint(&f->s[DWARF_STR_OFFSETS], 0, 4);
	put_uint(&f->s[DWARF_STR_OFFSETS], 4, 4);
	put_uint(&f->s[DWARF_ADDR], 0x1000, 8);
	put_uint(&f->s[DWARF_ADDR], 0x2000, 8);
}

/* Reads and skips the first @len bytes of @form's value, which both must do alike. */
static struct dwarf_value read_and_skip(const struct dwarf_unit *u, const struct form_case *form,
					size_t len, bool *bad)
{
	uint8_t *bytes = malloc(len + 1); /* exact: the sanitizer sees any read past the end */
	struct dwarf_spec spec = { .form = form->form, .implicit = -5 };
	const struct dwarf_abbrev abbrev = { .n_specs = 1, .fixed_len = UINT32_MAX };
	struct dwarf_abbrevs abbrevs = { .specs = { .data = &spec, .len = 1 } };
	struct dwarf_unit reader = *u;
	struct dwarf_cursor read, skip;
	struct dwarf_value v;

	assert_non_null(bytes);
	bytes = realloc(bytes, len ? len : 1);
	assert_non_null(bytes);
	memcpy(bytes, form->bytes, len);
	reader.abbrevs = &abbrevs;
	read = skip = (struct dwarf_cursor){ .p = bytes, .end = bytes + len };
	v = dwarf_attr_read(&reader, &read, &spec);
	dwarf_attrs_skip(&reader, &skip, &abbrev);
	assert_ptr_equal(read.p, skip.p);
	assert_int_equal(read.bad, skip.bad);
	if (len == form->len)
		assert_ptr_equal(read.p, bytes + len);
	*bad = read.bad;
	if (v.class == DWARF_STRING && form->form == DW_FORM_string)
		v.s = len == form->len ? form->s : ""; /* The bytes are freed below. */
	free(bytes);
	return v;
}

static void reads_a_value_of_every_form(void **state)
{
	struct dwarf_fixture *f = *state;
	const struct dwarf_unit *u;

	put_tables(f);
	put_header(f, false, 5, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	for (size_t i = 0; i < N_FORMS; i++) {
		const struct form_case *form = &form_cases[i];
		struct dwarf_value v;
		bool bad;

		v = read_and_skip(u, form, form->len, &bad);
		assert_false(bad);
		assert_int_equal(v.class, form->class);
		if (form->s)
			assert_string_equal(v.s, form->s);
		else
			assert_int_equal(v.u, form->u);
	}
}

static void a_value_cut_short_is_bad_in_every_form(void **state)
{
	struct dwarf_fixture *f = *state;
	const struct dwarf_unit *u;

	put_tables(f);
	put_header(f, false, 5, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	for (size_t i = 0; i < N_FORMS; i++)
		for (size_t len = 0; len < form_cases[i].len; len++) {
			bool bad;

			read_and_skip(u, &form_cases[i], len, &bad);
			assert_true(bad);
		}
}

static void unknown_forms_and_long_indirections_are_bad(void **state)
{
	static const struct form_case hostile[] = {
		{ .form = 0, .len = 8 },
		{ .form = 0x02, .len = 8 },
		{ .form = 0x7fff, .len = 8 },
		{ .form = UINT16_MAX, .len = 8 },
		{ .form = DW_FORM_indirect,
		  .len = 8,
		  .bytes = { DW_FORM_indirect, DW_FORM_indirect, DW_FORM_indirect, DW_FORM_indirect,
			     DW_FORM_indirect, DW_FORM_data1, 1 } },
		{ .form = DW_FORM_block4, .len = 8, .bytes = { 255, 255, 255, 255, 1, 2, 3, 4 } },
		{ .form = DW_FORM_udata,
		  .len = 8,
		  .bytes = { 255, 255, 255, 255, 255, 255, 255, 255 } },
		{ .form = DW_FORM_string, .len = 3, .bytes = { 'a', 'b', 'c' }, .s = "" },
	};
	struct dwarf_fixture *f = *state;
	const struct dwarf_unit *u;

	put_header(f, false, 5, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		struct dwarf_value v;
		bool bad;

		v = read_and_skip(u, &hostile[i], hostile[i].len, &bad);
		assert_true(bad);
		if (v.class == DWARF_STRING)
			assert_string_equal(v.s, "");
	}
}

static void offsets_follow_the_format_of_the_unit(void **state)
{
	struct form_case form = { .len = 8, .bytes = { 1, 0, 0, 0, 0, 0, 0, 0x10 } };
	static const uint16_t forms[] = { DW_FORM_sec_offset, DW_FORM_GNU_ref_alt,
					  DW_FORM_ref_addr };
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u;
	bool bad;

	put_header(f, true, 4, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	for (size_t i = 0; i < 3; i++) {
		form.form = forms[i];
		assert_int_equal(read_and_skip(u, &form, 8, &bad).u, 0x1000000000000001);
	}
	u->version = 2; /* DW_FORM_ref_addr has the size of an address */
	u->addr_len = 4;
	form.len = 4;
	assert_int_equal(read_and_skip(u, &form, 4, &bad).u, 1);
}

static void bases_near_the_end_of_the_address_space_do_not_wrap_into_a_table(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u;
	uint64_t addr;

	put_tables(f);
	put_header(f, false, 5, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	assert_true(dwarf_unit_address(u, 0, &addr));
	assert_int_equal(addr, 0x1000);
	assert_false(dwarf_unit_address(u, 2, &addr));
	assert_false(dwarf_unit_address(u, UINT64_MAX, &addr));
	assert_false(dwarf_unit_address(u, UINT64_MAX / 8 + 1, &addr));
	u->addr_base = UINT64_MAX - 3;
	assert_false(dwarf_unit_address(u, 0, &addr));
	u->addr_base = 12;
	assert_false(dwarf_unit_address(u, 0, &addr));
}

/* ---- abbreviations and DIEs ---------------------------------------------------------- */

static void abbreviations_may_have_any_codes_in_any_order(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_cursor c;
	struct dwarf_unit *u;
	struct dwarf_die die;
	size_t unit;

	ABBREV(f, 7, DW_TAG_base_type, false, DW_AT_byte_size, DW_FORM_data1);
	ABBREV(f, 300, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string);
	ABBREV(f, 1, DW_TAG_subprogram, false, DW_AT_decl_line, DW_FORM_data2);
	end_abbrevs(f);
	unit = begin_unit(f, 4, 0);
	PUT(&f->s[DWARF_INFO], 0xac, 2, 'x', 0, 1, 5, 0, 7, 4, 0);
	end_unit(f, unit);
	u = dwarf_fixture_unit(f);
	assert_int_equal(dwarf_unit_read(u), 0);
	assert_string_equal(u->name, "x");
	assert_int_equal(dwarf_unit_abbrevs(u), 0);
	c = dwarf_unit_cursor(u, u->die_off);
	assert_true(dwarf_die_next(u, &c, &die));
	assert_int_equal(die.abbrev->tag, DW_TAG_compile_unit);
	assert_true(die.abbrev->has_children);
	dwarf_attrs_skip(u, &c, die.abbrev);
	assert_true(dwarf_die_next(u, &c, &die));
	assert_int_equal(die.abbrev->tag, DW_TAG_subprogram);
	dwarf_attrs_skip(u, &c, die.abbrev);
	assert_true(dwarf_die_next(u, &c, &die));
	assert_int_equal(die.abbrev->tag, DW_TAG_base_type);
	assert_int_equal(die.off, unit + 11 + 7);
	dwarf_attrs_skip(u, &c, die.abbrev);
	assert_true(dwarf_die_next(u, &c, &die));
	assert_null(die.abbrev);
	assert_false(dwarf_die_next(u, &c, &die));
	assert_false(c.bad);
}

static void a_die_of_an_unknown_abbreviation_is_bad(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_cursor c;
	struct dwarf_unit *u;
	struct dwarf_die die;
	size_t unit;

	ABBREV(f, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string);
	end_abbrevs(f);
	unit = begin_unit(f, 4, 0);
	PUT(&f->s[DWARF_INFO], 2, 0, 0);
	end_unit(f, unit);
	u = dwarf_fixture_unit(f);
	assert_int_equal(dwarf_unit_read(u), -EBADMSG);
	assert_int_equal(dwarf_unit_abbrevs(u), 0);
	c = dwarf_unit_cursor(u, u->die_off);
	assert_false(dwarf_die_next(u, &c, &die));
	assert_true(c.bad);
}

static void cursors_stay_inside_their_unit(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u;

	put_header(f, false, 4, DW_UT_compile, 8);
	put_header(f, false, 4, DW_UT_compile, 8);
	u = dwarf_fixture_unit(f);
	assert_true(dwarf_unit_cursor(u, u->off).bad);
	assert_true(dwarf_unit_cursor(u, u->die_off - 1).bad);
	assert_true(dwarf_unit_cursor(u, u->end).bad);
	assert_true(dwarf_unit_cursor(u, UINT64_MAX).bad);
	assert_int_equal(dwarf_unit_read(u), -EBADMSG);
}

/* Reads the unit's DIE, whose abbreviation has all attributes that it uses. */
static void put_full_unit(struct dwarf_fixture *f)
{
	struct buf *b = &f->s[DWARF_INFO];
	size_t unit;

	/* The indexes come before the bases that they depend on. */
	ABBREV(f, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_strx1, DW_AT_comp_dir,
	       DW_FORM_strp, DW_AT_high_pc, DW_FORM_data4, DW_AT_low_pc, DW_FORM_addrx,
	       DW_AT_language, DW_FORM_data2, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_ranges,
	       DW_FORM_rnglistx, DW_AT_producer, DW_FORM_string, DW_AT_str_offsets_base,
	       DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset, DW_AT_rnglists_base,
	       DW_FORM_sec_offset);
	end_abbrevs(f);
	buf_put(&f->s[DWARF_STR], "dir\0name", 9);
	put_uint(&f->s[DWARF_STR_OFFSETS], 0, 8); /* the table's header */
	put_uint(&f->s[DWARF_STR_OFFSETS], 4, 4);
	put_uint(&f->s[DWARF_ADDR], 0, 8);
	put_uint(&f->s[DWARF_ADDR], 0x5000, 8);
	unit = begin_unit(f, 5, 0);
	PUT(b, 1, 0);
	put_uint(b, 0, 4);
	put_uint(b, 0x100, 4);
	PUT(b, 0, 0x1d, 0);
	put_uint(b, 0x33, 4);
	PUT(b, 2, 'g', 'c', 'c', 0);
	put_uint(b, 8, 4);
	put_uint(b, 8, 4);
	put_uint(b, 12, 4);
	PUT(b, 0);
	end_unit(f, unit);
}

static void reads_the_attributes_of_a_unit_in_any_order(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u;

	put_full_unit(f);
	u = dwarf_fixture_unit(f);
	assert_int_equal(dwarf_unit_read(u), 0);
	assert_string_equal(u->name, "name");
	assert_string_equal(u->comp_dir, "dir");
	assert_int_equal(u->tag, DW_TAG_compile_unit);
	assert_int_equal(u->low_pc, 0x5000);
	assert_true(u->has_high);
	assert_int_equal(u->high_pc, 0x5100);
	assert_int_equal(u->lang, 0x1d);
	assert_true(u->has_stmt_list);
	assert_int_equal(u->stmt_list, 0x33);
	assert_true(u->has_ranges && u->ranges_is_index);
	assert_int_equal(u->ranges, 2);
	assert_int_equal(u->rnglists_base, 12);
	assert_null(u->abbrevs);
	assert_int_equal(dwarf_unit_read(u), 0);
}

static void abbreviations_are_dropped_and_parsed_again(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_unit *u;
	size_t without;

	put_full_unit(f);
	u = dwarf_fixture_unit(f);
	without = dwarf_unit_bytes(u);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dwarf_unit_abbrevs(u), 0);
		assert_int_equal(dwarf_unit_abbrevs(u), 0);
		assert_true(dwarf_unit_bytes(u) > without);
		assert_int_equal(dwarf_unit_read(u), 0);
		assert_non_null(u->abbrevs);
		dwarf_unit_drop_abbrevs(u);
		assert_int_equal(dwarf_unit_bytes(u), without);
	}
}

/* Cuts each section in turn, at every byte: a unit is read or refused, nothing else. */
static void truncated_sections_are_refused_or_read(void **state)
{
	static const enum dwarf_section cut[] = { DWARF_INFO, DWARF_ABBREV, DWARF_STR,
						  DWARF_STR_OFFSETS, DWARF_ADDR };
	struct dwarf_fixture *f = *state;

	put_full_unit(f);
	for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++) {
		struct buf *b = &f->s[cut[i]];
		size_t whole = b->len;

		for (size_t len = 0; len < whole; len++) {
			int r;

			b->len = len;
			dwarf_fixture_load(f);
			r = dwarf_file_scan(&f->file);
			assert_true(r == 0 || r == -EBADMSG);
			for (size_t k = 0; k < f->file.units.len; k++) {
				r = dwarf_unit_read(f->file.units.data[k]);
				assert_true(r == 0 || (r == -EBADMSG && cut[i] <= DWARF_ABBREV));
			}
		}
		b->len = whole;
	}
}

TEST_GROUP(test_dwarf_unit, DWARF_TEST(reads_the_headers_of_all_versions_and_formats),
	   DWARF_TEST(reads_the_ids_of_split_and_type_units),
	   DWARF_TEST(skips_units_that_it_does_not_support),
	   DWARF_TEST(keeps_the_units_before_a_malformed_length),
	   DWARF_TEST(a_length_of_64_bits_does_not_wrap), DWARF_TEST(finds_the_unit_of_an_offset),
	   DWARF_TEST(reads_a_value_of_every_form),
	   DWARF_TEST(a_value_cut_short_is_bad_in_every_form),
	   DWARF_TEST(unknown_forms_and_long_indirections_are_bad),
	   DWARF_TEST(offsets_follow_the_format_of_the_unit),
	   DWARF_TEST(bases_near_the_end_of_the_address_space_do_not_wrap_into_a_table),
	   DWARF_TEST(abbreviations_may_have_any_codes_in_any_order),
	   DWARF_TEST(a_die_of_an_unknown_abbreviation_is_bad),
	   DWARF_TEST(cursors_stay_inside_their_unit),
	   DWARF_TEST(reads_the_attributes_of_a_unit_in_any_order),
	   DWARF_TEST(abbreviations_are_dropped_and_parsed_again),
	   DWARF_TEST(truncated_sections_are_refused_or_read))
