/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Units, abbreviations and attribute values of .debug_info, DWARF 2 to 5, and
 * GNU's split DWARF before 5.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_sections.h"

struct dwarf_funcs;
struct dwarf_lines;
struct dwarf_unit;

struct dwarf_spec { /* one attribute of an abbreviation */
	uint16_t at;
	uint16_t form;
	int64_t implicit;
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag; /* 0: not there */
	bool has_children;
	uint32_t first_spec, n_specs;
	uint32_t fixed_len; /* of its attributes; UINT32_MAX: varies */
};

struct dwarf_abbrevs {
	struct {
		VEC(struct dwarf_abbrev);
	} abbrevs; /* by code when codes are 1, 2, 3...; searched otherwise */
	struct {
		VEC(struct dwarf_spec);
	} specs;
};

/* A file's units. Split ones carry what their skeleton knows. */
struct dwarf_file {
	struct dwarf_sections *sections;
	struct dwarf_file *alt; /* dwz's, or NULL; borrowed */
	struct {
		VEC(struct dwarf_unit *);
	} units; /* by offset */
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

	/* Of the unit's own DIE, once dwarf_unit_read() has been there. */
	bool read;
	uint16_t tag;
	bool has_stmt_list, has_ranges, has_high;
	uint64_t low_pc, high_pc, ranges, stmt_list;
	bool ranges_is_index;
	uint64_t addr_base, str_offsets_base, rnglists_base, gnu_ranges_base;
	const char *name, *comp_dir, *dwo_name;
	uint16_t lang;

	const struct dwarf_sections *addr_sections; /* .debug_addr; a split unit's skeleton's */
	const struct dwarf_sections *gnu_ranges_sections;
	struct dwarf_abbrevs *abbrevs; /* owned, on demand */

	/* What is built of it, owned by dwarf.c. */
	struct dwarf_unit *split;
	bool split_asked;
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
	DWARF_REF_ALT, /* offset in the alternate file's */
	DWARF_SECTION_OFFSET,
	DWARF_RANGE_INDEX,
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t u;
	const char *s;
};

/* A DIE while its attributes are read. */
struct dwarf_die {
	const struct dwarf_abbrev *abbrev; /* NULL: the end of a list of children */
	uint64_t off;
};

enum { DWARF_UNITS_MAX = 1u << 20 };

/* All unit headers of @f, whose sections are set. 0, -EBADMSG (what came before is kept), -ENOMEM.
 */
int dwarf_file_scan(struct dwarf_file *f);
void dwarf_file_fini(struct dwarf_file *f);

/* The unit of one header at @c, bounded to it; its abbreviations start at @abbrev_base more. */
int dwarf_unit_parse(struct dwarf_unit **out, struct dwarf_file *f, uint64_t off,
		     uint64_t abbrev_base);
void dwarf_unit_free(struct dwarf_unit *u);

/* Let go of the abbreviations, which are parsed again when wanted. */
void dwarf_unit_forget(struct dwarf_unit *u);

/* The unit that holds @off, or NULL. */
struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t off);

/* Read the unit's own DIE, once: 0, -EBADMSG, -ENOMEM. */
int dwarf_unit_read(struct dwarf_unit *u);

/* The unit's abbreviations, parsed when first wanted: 0, -EBADMSG, -ENOMEM. */
int dwarf_unit_abbrevs(struct dwarf_unit *u);

/* A cursor over the unit's DIEs at @off; bad when that is outside the unit. */
struct dwarf_cursor dwarf_unit_cursor(const struct dwarf_unit *u, uint64_t off);

/* The next DIE's code; the cursor then stands at its attributes. False at the end or if bad. */
bool dwarf_die_next(const struct dwarf_unit *u, struct dwarf_cursor *c, struct dwarf_die *out);

/* Pass over all attributes of @abbrev, or read one. */
void dwarf_attrs_skip(const struct dwarf_unit *u, struct dwarf_cursor *c,
		      const struct dwarf_abbrev *abbrev);
struct dwarf_value dwarf_attr_read(const struct dwarf_unit *u, struct dwarf_cursor *c,
				   const struct dwarf_spec *spec);

/* Attribute @i of @abbrev. */
static inline const struct dwarf_spec *dwarf_spec(const struct dwarf_unit *u,
						  const struct dwarf_abbrev *abbrev, uint32_t i)
{
	return &u->abbrevs->specs.data[abbrev->first_spec + i];
}

/* Address @index of the unit's table; false if it is not there. */
bool dwarf_unit_address(const struct dwarf_unit *u, uint64_t index, uint64_t *out);

/* Memory held by @u's own tables. */
size_t dwarf_unit_bytes(const struct dwarf_unit *u);
