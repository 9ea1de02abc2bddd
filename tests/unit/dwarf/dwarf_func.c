/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_func.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

#include "tests/test.h"
#include "tests/unit/dwarf/fixture.h"

/* Abbreviations that put_abbrevs() defines. */
enum {
	UNIT = 1,
	FUNCTION, /* name, low_pc, length, decl_line */
	BLOCK,
	INLINED,   /* origin, low_pc, length, call_file, call_line */
	ABSTRACT,  /* name, linkage_name, decl_line */
	ORIGIN,    /* origin, low_pc, length */
	SPECIFIED, /* specification, decl_line; without code */
	FAR,       /* origin by DW_FORM_ref_addr, low_pc, length */
	ALT,       /* origin in the alternate file, low_pc, length */
	TYPE,      /* name, and children */
};

static void put_abbrevs(struct dwarf_fixture *f)
{
	ABBREV(f, UNIT, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string);
	ABBREV(f, FUNCTION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
	       DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_decl_line, DW_FORM_data1);
	ABBREV(f, BLOCK, DW_TAG_lexical_block, true, DW_AT_decl_line, DW_FORM_data1);
	ABBREV(f, INLINED, DW_TAG_inlined_subroutine, true, DW_AT_abstract_origin, DW_FORM_ref4,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_call_file,
	       DW_FORM_data1, DW_AT_call_line, DW_FORM_data1);
	ABBREV(f, ABSTRACT, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string,
	       DW_AT_linkage_name, DW_FORM_string, DW_AT_decl_line, DW_FORM_data1);
	ABBREV(f, ORIGIN, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_ref4,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4);
	ABBREV(f, SPECIFIED, DW_TAG_subprogram, false, DW_AT_specification, DW_FORM_ref4,
	       DW_AT_decl_line, DW_FORM_data1);
	ABBREV(f, FAR, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_ref_addr,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4);
	ABBREV(f, ALT, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_GNU_ref_alt,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4);
	ABBREV(f, TYPE, DW_TAG_structure_type, true, DW_AT_name, DW_FORM_string);
	end_abbrevs(f);
}

static struct buf *info(struct dwarf_fixture *f)
{
	return &f->s[DWARF_INFO];
}

/* Begins a unit, whose offset the result is, and its DIE. */
static size_t begin(struct dwarf_fixture *f)
{
	size_t unit = begin_unit(f, 4, 0);

	PUT(info(f), UNIT);
	put_string(info(f), "unit.c");
	return unit;
}

static void end(struct dwarf_fixture *f, size_t unit)
{
	PUT(info(f), 0);
	end_unit(f, unit);
}

static void put_code(struct dwarf_fixture *f, uint64_t addr, uint32_t len)
{
	put_uint(info(f), addr, 8);
	put_uint(info(f), len, 4);
}

/* Puts a function, whose children follow up to a 0. Returns its offset. */
static size_t put_function(struct dwarf_fixture *f, const char *name, uint64_t addr, uint32_t len)
{
	size_t at = info(f)->len;

	PUT(info(f), FUNCTION);
	put_string(info(f), name);
	put_code(f, addr, len);
	PUT(info(f), 5);
	return at;
}

static void put_inlined(struct dwarf_fixture *f, size_t unit, size_t origin, uint64_t addr,
			uint32_t len, uint8_t line)
{
	PUT(info(f), INLINED);
	put_uint(info(f), origin - unit, 4);
	put_code(f, addr, len);
	PUT(info(f), 3, line);
}

static size_t put_abstract(struct dwarf_fixture *f, const char *name, const char *linkage)
{
	size_t at = info(f)->len;

	PUT(info(f), ABSTRACT);
	put_string(info(f), name);
	put_string(info(f), linkage);
	PUT(info(f), 9);
	return at;
}

/* Puts a function of abbreviation @abbrev at @addr with a reference to @ref. Returns its offset. */
static size_t put_reference(struct dwarf_fixture *f, uint8_t abbrev, size_t ref, uint64_t addr)
{
	size_t at = info(f)->len;

	PUT(info(f), abbrev);
	put_uint(info(f), ref, 4);
	if (abbrev == SPECIFIED)
		PUT(info(f), 44);
	else
		put_code(f, addr, 0x10);
	return at;
}

static struct dwarf_funcs *build(struct dwarf_unit *u)
{
	struct dwarf_funcs *funcs;

	assert_int_equal(dwarf_funcs_build(&funcs, u, NULL, 0), 0);
	return funcs;
}

/* Checks name and linkage name (NULL: none) of the innermost function at @addr. */
static const struct dwarf_func *check_at(struct dwarf_funcs *funcs, struct dwarf_unit *u,
					 uint64_t addr, const char *name, const char *linkage)
{
	uint32_t i = interval_table_find(&funcs->table, addr);
	const struct dwarf_func_name *n;

	assert_true(i < funcs->funcs.len);
	for (int twice = 0; twice < 2; twice++) {
		n = dwarf_func_name(funcs, u, i);
		assert_non_null(n);
		assert_int_equal(!n->name, !name);
		assert_int_equal(!n->linkage, !linkage);
		if (name)
			assert_string_equal(n->name, name);
		if (linkage)
			assert_string_equal(n->linkage, linkage);
	}
	return &funcs->funcs.data[i];
}

static void nests_inlined_calls_through_blocks(void **state)
{
	struct dwarf_fixture *f = *state;
	const struct dwarf_func *at;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit, inner, leaf;

	put_abbrevs(f);
	unit = begin(f);
	inner = put_abstract(f, "inner", "_Zinner");
	leaf = put_abstract(f, "leaf", "_Zleaf");
	put_function(f, "outer", 0x1000, 0x100);
	PUT(info(f), BLOCK, 1);
	put_inlined(f, unit, inner, 0x1020, 0x40, 77);
	PUT(info(f), BLOCK, 2);
	put_inlined(f, unit, leaf, 0x1030, 0x10, 88);
	PUT(info(f), 0, 0, 0, 0, 0);
	put_function(f, "next", 0x2000, 0x10);
	PUT(info(f), 0);
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	assert_int_equal(funcs->funcs.len, 4);
	at = check_at(funcs, u, 0x1000, "outer", NULL);
	assert_int_equal(at->parent, INTERVAL_NONE);
	check_at(funcs, u, 0x10ff, "outer", NULL);
	at = check_at(funcs, u, 0x1020, "inner", "_Zinner");
	assert_int_equal(at->call_line, 77);
	assert_int_equal(at->call_file, 3);
	at = check_at(funcs, u, 0x1030, "leaf", "_Zleaf");
	assert_int_equal(at->call_line, 88);
	assert_int_equal(funcs->funcs.data[at->parent].call_line, 77);
	check_at(funcs, u, 0x1040, "inner", "_Zinner");
	check_at(funcs, u, 0x2000, "next", NULL);
	assert_int_equal(interval_table_find(&funcs->table, 0x1100), INTERVAL_NONE);
	assert_int_equal(interval_table_find(&funcs->table, 0), INTERVAL_NONE);
	dwarf_funcs_free(funcs);
}

static void a_function_inside_another_is_not_inlined_there(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit;

	put_abbrevs(f);
	unit = begin(f);
	put_function(f, "outer", 0x1000, 0x100);
	put_function(f, "nested", 0x2000, 0x10);
	PUT(info(f), 0, 0);
	PUT(info(f), TYPE);
	put_string(info(f), "Class");
	put_function(f, "method", 0x3000, 0x10);
	PUT(info(f), 0, 0);
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	assert_int_equal(check_at(funcs, u, 0x2000, "nested", NULL)->parent, INTERVAL_NONE);
	check_at(funcs, u, 0x3000, "method", NULL);
	dwarf_funcs_free(funcs);
}

static void functions_without_code_are_omitted(void **state)
{
	struct dwarf_fixture *f = *state;
	struct interval_list also = { 0 };
	struct dwarf_funcs *funcs;
	size_t unit;

	put_abbrevs(f);
	unit = begin(f);
	put_abstract(f, "declared", "_Z");
	put_function(f, "discarded", 0, 0x100);
	PUT(info(f), 0);
	put_function(f, "empty", 0x1000, 0);
	PUT(info(f), 0);
	put_function(f, "real", 0x1000, 0x10);
	PUT(info(f), 0);
	end(f, unit);
	assert_int_equal(dwarf_funcs_build(&funcs, dwarf_fixture_unit(f), &also, 42), 0);
	assert_int_equal(funcs->funcs.len, 1);
	assert_int_equal(also.len, 1);
	assert_int_equal(also.data[0].lo, 0x1000);
	assert_int_equal(also.data[0].hi, 0x1010);
	assert_int_equal(also.data[0].id, 42);
	vec_fini(&also);
	dwarf_funcs_free(funcs);
}

static void names_come_through_references_to_other_dies_and_units(void **state)
{
	struct dwarf_fixture *f = *state;
	size_t unit, second, declared, specified, far;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	uint32_t i;

	put_abbrevs(f);
	unit = begin(f);
	declared = put_abstract(f, "method", "_Zmethod");
	specified = put_reference(f, SPECIFIED, declared - unit, 0);
	put_reference(f, ORIGIN, specified - unit, 0x1000);
	far = info(f)->len;
	put_reference(f, FAR, 0, 0x2000);
	end(f, unit);
	second = begin(f);
	declared = put_abstract(f, "in another unit", "_Zfar");
	end(f, second);
	memcpy(f->s[DWARF_INFO].data + far + 1, &(uint32_t){ (uint32_t)declared }, 4);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	check_at(funcs, u, 0x1000, "method", "_Zmethod");
	i = interval_table_find(&funcs->table, 0x1000);
	assert_int_equal(dwarf_func_name(funcs, u, i)->decl_line, 44);
	check_at(funcs, u, 0x2000, "in another unit", "_Zfar");
	dwarf_funcs_free(funcs);
}

static void names_come_from_the_alternate_file(void **state)
{
	struct dwarf_fixture *f = *state, *alt;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit, declared;
	void *alt_state;

	assert_int_equal(dwarf_fixture_setup(&alt_state), 0);
	alt = alt_state;
	put_abbrevs(alt);
	unit = begin(alt);
	declared = put_abstract(alt, "shared", "_Zshared");
	end(alt, unit);
	dwarf_fixture_unit(alt);
	put_abbrevs(f);
	unit = begin(f);
	put_reference(f, ALT, declared, 0x1000);
	put_reference(f, ALT, declared + 100000, 0x2000);
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	check_at(funcs, u, 0x1000, NULL, NULL);
	dwarf_funcs_free(funcs);
	f->file.alt = &alt->file;
	funcs = build(u);
	check_at(funcs, u, 0x1000, "shared", "_Zshared");
	check_at(funcs, u, 0x2000, NULL, NULL);
	dwarf_funcs_free(funcs);
	dwarf_fixture_teardown(&alt_state);
}

static void cycles_and_bad_references_end_without_a_name(void **state)
{
	static const uint32_t bad[] = { 0, 5, 11, 0x7fffffff, UINT32_MAX };
	struct dwarf_fixture *f = *state;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit, self;

	put_abbrevs(f);
	unit = begin(f);
	self = info(f)->len;
	put_reference(f, ORIGIN, self - unit, 0x1000);
	put_reference(f, ORIGIN, info(f)->len + 17 - unit, 0x2000); /* of each other */
	put_reference(f, ORIGIN, info(f)->len - 17 - unit, 0x3000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_reference(f, ORIGIN, bad[i], 0x4000 + 0x1000 * i);
		put_reference(f, FAR, bad[i], 0x14000 + 0x1000 * i);
	}
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	for (uint64_t addr = 0x1000; addr <= 0x3000; addr += 0x1000)
		check_at(funcs, u, addr, NULL, NULL);
	for (uint32_t i = 0; i < funcs->funcs.len; i++)
		assert_non_null(dwarf_func_name(funcs, u, i));
	dwarf_funcs_free(funcs);
}

static void too_deep_nesting_keeps_the_functions_before(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit;

	put_abbrevs(f);
	unit = begin(f);
	put_function(f, "before", 0x1000, 0x10);
	PUT(info(f), 0);
	for (int i = 0; i < DWARF_DEPTH_MAX; i++)
		PUT(info(f), BLOCK, 1);
	put_function(f, "behind", 0x2000, 0x10);
	PUT(info(f), 0);
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	check_at(funcs, u, 0x1000, "before", NULL);
	assert_int_equal(interval_table_find(&funcs->table, 0x2000), INTERVAL_NONE);
	dwarf_funcs_free(funcs);
}

static void more_ends_than_beginnings_are_harmless(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_funcs *funcs;
	struct dwarf_unit *u;
	size_t unit;

	put_abbrevs(f);
	unit = begin(f);
	PUT(info(f), 0, 0, 0, 0);
	put_function(f, "f", 0x1000, 0x10);
	end(f, unit);
	u = dwarf_fixture_unit(f);
	funcs = build(u);
	check_at(funcs, u, 0x1000, "f", NULL);
	dwarf_funcs_free(funcs);
}

/* Cuts the unit after each byte: the functions that are complete are found. */
static void a_truncated_unit_has_the_complete_functions_before_the_end(void **state)
{
	enum { N = 5 };
	struct dwarf_fixture *f = *state;
	size_t unit, ends[N], whole;

	put_abbrevs(f);
	unit = begin(f);
	for (size_t i = 0; i < N; i++) {
		put_function(f, "f", 0x1000 * (i + 1), 0x10);
		ends[i] = info(f)->len;
		PUT(info(f), 0);
	}
	end(f, unit);
	whole = info(f)->len;
	for (size_t len = unit + 11; len < whole; len++) {
		struct dwarf_funcs *funcs;

		info(f)->len = len;
		end_unit(f, unit);
		funcs = build(dwarf_fixture_unit(f));
		for (size_t i = 0; i < N; i++)
			assert_int_equal(interval_table_find(&funcs->table, 0x1000 * (i + 1)) !=
						 INTERVAL_NONE,
					 len >= ends[i]);
		dwarf_funcs_free(funcs);
	}
}

static void memory_grows_with_the_functions(void **state)
{
	struct dwarf_fixture *f = *state;
	struct dwarf_funcs *funcs;
	size_t unit;

	put_abbrevs(f);
	unit = begin(f);
	for (uint64_t i = 1; i <= 1000; i++) {
		put_function(f, "f", i * 0x100, 0x10);
		PUT(info(f), 0);
	}
	end(f, unit);
	funcs = build(dwarf_fixture_unit(f));
	assert_int_equal(funcs->funcs.len, 1000);
	assert_true(dwarf_funcs_bytes(funcs) >= 1000 * sizeof(struct dwarf_func));
	assert_true(dwarf_funcs_bytes(funcs) < 200000);
	dwarf_funcs_free(funcs);
}

TEST_GROUP(test_dwarf_func, DWARF_TEST(nests_inlined_calls_through_blocks),
	   DWARF_TEST(a_function_inside_another_is_not_inlined_there),
	   DWARF_TEST(functions_without_code_are_omitted),
	   DWARF_TEST(names_come_through_references_to_other_dies_and_units),
	   DWARF_TEST(names_come_from_the_alternate_file),
	   DWARF_TEST(cycles_and_bad_references_end_without_a_name),
	   DWARF_TEST(too_deep_nesting_keeps_the_functions_before),
	   DWARF_TEST(more_ends_than_beginnings_are_harmless),
	   DWARF_TEST(a_truncated_unit_has_the_complete_functions_before_the_end),
	   DWARF_TEST(memory_grows_with_the_functions))
