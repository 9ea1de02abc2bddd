/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses units and attribute values in .debug_info and abbreviations in
 * .debug_abbrev: DWARF 2 to 5, and GNU's split DWARF for version 4. The other
 * modules of this folder read DIEs through it. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "dwarf/dwarf_cursor.h"
#include "dwarf/dwarf_sections.h"

struct dwarf_funcs;
struct dwarf_lines;
struct dwarf_unit;

/* One attribute specification of an abbreviation. */
struct dwarf_spec {
	uint16_t at;      /* DW_AT_* */
	uint16_t form;    /* DW_FORM_* */
	int64_t implicit; /* value of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag; /* DW_TAG_* */
	bool has_children;
	uint32_t first_spec, n_specs;
	uint32_t fixed_len; /* of its attribute values; UINT32_MAX: varies */
};

struct dwarf_abbrevs {
	struct {
		VEC(struct dwarf_abbrev);
	} abbrevs; /* indexed by code - 1 if codes are 1, 2, 3...; searched otherwise */
	struct {
		VEC(struct dwarf_spec);
	} specs;
};

/* The units of one file. A split unit contains a copy of its skeleton's bases. */
struct dwarf_file {
	struct dwarf_sections *sections;
	struct dwarf_file *alt; /* dwz's alternate file, or NULL; borrowed */
	struct {
		VEC(struct dwarf_unit *);
	} units; /* sorted by offset */
};

struct dwarf_unit {
	struct dwarf_file *file;
	uint64_t off, end, die_off; /* in .debug_info */
	uint64_t abbrev_off;
	uint16_t version;
	uint8_t addr_len;
	uint8_t type; /* DW_UT_* */
	bool is64;
	uint64_t dwo_id;

	/* Attributes of the unit's own DIE, set by dwarf_unit_read(). */
	bool read;
	uint16_t tag;
	bool has_stmt_list, has_ranges, has_high, high_is_length;
	uint64_t low_pc, high_pc, ranges, stmt_list;
	bool ranges_is_index;
	uint64_t addr_base, str_offsets_base, rnglists_base, gnu_ranges_base;
	const char *name, *comp_dir, *dwo_name;
	uint16_t lang;

	const struct dwarf_sections
		*addr_sections; /* has .debug_addr; the skeleton's for a split unit */
	const struct dwarf_sections *gnu_ranges_sections;
	struct dwarf_abbrevs *abbrevs; /* owned; NULL until needed */

	/* Tables built from the unit, owned by dwarf.c. */
	struct dwarf_unit *split;
	bool split_tried;
	struct dwarf_funcs *funcs;
	struct dwarf_lines *lines;
	int lines_error;
};

enum dwarf_class {
	DWARF_NONE,
	DWARF_ADDRESS,
	DWARF_UINT,
	DWARF_SINT,
	DWARF_STRING,
	DWARF_REF,     /* offset in this file's .debug_info */
	DWARF_REF_ALT, /* offset in the alternate file's .debug_info */
	DWARF_SECTION_OFFSET,
	DWARF_RANGE_INDEX,
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t u;
	const char *s;
};

/* A DIE whose attributes the cursor stands at. */
struct dwarf_die {
	const struct dwarf_abbrev *abbrev; /* NULL: the end of a list of children */
	uint64_t off;
};

enum { DWARF_UNITS_MAX = 1u << 20 };

/*
 * Parses the unit at offset @off of .debug_info. @abbrev_base is added to its offset in
 * .debug_abbrev, as a .dwp requires. Returns 0, -EBADMSG or -ENOMEM; the caller frees the unit.
 */
int dwarf_unit_parse(struct dwarf_unit **out, struct dwarf_file *f, uint64_t off,
		     uint64_t abbrev_base);
void dwarf_unit_free(struct dwarf_unit *u);

/* Frees the abbreviations, which are parsed again on the next use. */
void dwarf_unit_drop_abbrevs(struct dwarf_unit *u);

/*
 * Parses the first @max abbreviations of the unit and replaces its current ones. Returns 0,
 * -EBADMSG or -ENOMEM.
 */
int dwarf_unit_load_abbrevs(struct dwarf_unit *u, size_t max);

/* Parses the unit's abbreviations, once. Returns 0, -EBADMSG or -ENOMEM. */
int dwarf_unit_abbrevs(struct dwarf_unit *u);

/* Returns a cursor at DIE offset @off, which is bad if @off lies outside the unit. */
struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off);

/* Reads the next DIE's code and moves to its attributes. Returns false at the end or if bad. */
bool dwarf_die_next(const struct dwarf_unit *u, struct dwarf_cursor *c, struct dwarf_die *out);

/* Skip all attribute values of @abbrev, and read the value of one. */
void dwarf_attrs_skip(const struct dwarf_unit *u, struct dwarf_cursor *c,
		      const struct dwarf_abbrev *abbrev);
struct dwarf_value dwarf_attr_read(const struct dwarf_unit *u, struct dwarf_cursor *c,
				   const struct dwarf_spec *spec);

/* Returns attribute specification @i of @abbrev. */
static inline const struct dwarf_spec *dwarf_spec(const struct dwarf_unit *u,
						  const struct dwarf_abbrev *abbrev, uint32_t i)
{
	return &u->abbrevs->specs.data[abbrev->first_spec + i];
}

/* Reads address @index of the unit's table in .debug_addr. Returns false if it is out of range. */
bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *out);

/* Returns the memory held by @u and its abbreviations. */
size_t dwarf_unit_bytes(const struct dwarf_unit *u);
