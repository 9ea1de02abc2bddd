/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a split unit are in .debug_addr of its skeleton's file. The
 * other tables that it indexes have no base attribute. They start after the
 * header of the unit's contribution to .debug_str_offsets.dwo and
 * .debug_rnglists.dwo (DWARF 5), or at its beginning (GNU).
 */
#include "dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

#include "dwarf/dwarf_file.h"

/* Section identifiers of the columns in .debug_cu_index: DWARF 5, 7.3.5.3. */
enum {
	SECT_INFO = 1,
	SECT_ABBREV = 3,
	SECT_STR_OFFSETS = 6,
	SECT_RNGLISTS = 8, /* version 5 only */
	COLUMNS_MAX = 16,
};

/*
 * Gives the split unit @u the bases of its skeleton. The added constants are the sizes of the
 * headers of .debug_str_offsets.dwo (DWARF 5, 7.26) and .debug_rnglists.dwo (7.28).
 */
static void join_skeleton(struct dwarf_unit *u, const struct dwarf_unit *skeleton)
{
	u->addr_sections = skeleton->addr_sections;
	u->gnu_ranges_sections = skeleton->gnu_ranges_sections;
	u->addr_base = skeleton->addr_base;
	u->gnu_ranges_base = skeleton->gnu_ranges_base;
	u->low_pc = skeleton->low_pc;
	if (u->version >= 5) {
		u->str_offsets_base += u->is64 ? 16 : 8;
		u->rnglists_base += u->is64 ? 20 : 12;
	}
}

struct dwarf_unit *dwarf_split_from_dwo(struct dwarf_file *f, const struct dwarf_unit *skeleton)
{
	for (size_t i = 0; i < f->units.len; i++) {
		struct dwarf_unit *u = f->units.data[i];

		if (u->type != DW_UT_split_compile && u->type != DW_UT_compile)
			continue;
		join_skeleton(u, skeleton);
		if (dwarf_unit_read(u) == 0 && u->dwo_id == skeleton->dwo_id)
			return u;
	}
	return NULL;
}

struct cu_index {
	const struct elf_span *s;
	uint32_t version, n_columns, n_units, n_slots;
	uint64_t slots, rows, columns, offsets; /* offsets in the section */
};

static int index_open(struct cu_index *ix, const struct elf_span *s)
{
	struct dwarf_cursor c = dwarf_cursor_at(s, 0);
	uint64_t len;

	ix->s = s;
	ix->version = dwarf_u16(&c);
	dwarf_u16(&c);
	ix->n_columns = dwarf_u32(&c);
	ix->n_units = dwarf_u32(&c);
	ix->n_slots = dwarf_u32(&c);
	if (c.bad || (ix->version != 2 && ix->version != 5) || ix->n_columns > COLUMNS_MAX ||
	    !ix->n_slots || (ix->n_slots & (ix->n_slots - 1)))
		return -EBADMSG;
	ix->slots = 16;
	ix->rows = ix->slots + (uint64_t)ix->n_slots * 8;
	ix->columns = ix->rows + (uint64_t)ix->n_slots * 4;
	ix->offsets = ix->columns + (uint64_t)ix->n_columns * 4;
	len = ix->offsets + (uint64_t)ix->n_units * ix->n_columns * 4;
	return len <= s->len ? 0 : -EBADMSG;
}

static uint64_t index_uint(const struct cu_index *ix, uint64_t off, size_t n)
{
	struct dwarf_cursor c = dwarf_cursor_at(ix->s, off);

	return dwarf_uint(&c, n);
}

/* Finds the row (from 1) of the unit with DWO id @id by the hash table of DWARF 5, 7.3.5.3. */
static int index_find(const struct cu_index *ix, uint64_t id, uint32_t *out_row)
{
	uint32_t mask = ix->n_slots - 1;
	uint32_t h = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < ix->n_slots; i++, h = (h + step) & mask) {
		uint32_t row = (uint32_t)index_uint(ix, ix->rows + (uint64_t)h * 4, 4);

		if (!row)
			return -ENOENT;
		if (index_uint(ix, ix->slots + (uint64_t)h * 8, 8) != id)
			continue;
		*out_row = row;
		return row <= ix->n_units ? 0 : -EBADMSG;
	}
	return -ENOENT;
}

/* Returns the offset of the unit's contribution to section @sect; 0 if it has none. */
static uint64_t index_offset(const struct cu_index *ix, uint32_t row, uint32_t sect)
{
	for (uint32_t i = 0; i < ix->n_columns; i++)
		if (index_uint(ix, ix->columns + (uint64_t)i * 4, 4) == sect)
			return index_uint(
				ix, ix->offsets + (((uint64_t)row - 1) * ix->n_columns + i) * 4, 4);
	return 0;
}

int dwarf_split_from_dwp(struct dwarf_unit **out, struct dwarf_file *f,
			 const struct dwarf_unit *skeleton)
{
	struct cu_index ix = { 0 };
	struct dwarf_unit *u;
	uint32_t row;
	int r;

	r = index_open(&ix, &f->sections->s[DWARF_CU_INDEX]);
	if (r == 0)
		r = index_find(&ix, skeleton->dwo_id, &row);
	if (r == 0)
		r = dwarf_unit_parse(&u, f, index_offset(&ix, row, SECT_INFO),
				     index_offset(&ix, row, SECT_ABBREV));
	if (r < 0)
		return r;
	u->str_offsets_base = index_offset(&ix, row, SECT_STR_OFFSETS);
	if (ix.version == 5)
		u->rnglists_base = index_offset(&ix, row, SECT_RNGLISTS);
	join_skeleton(u, skeleton);
	r = dwarf_unit_read(u);
	if (r < 0) {
		dwarf_unit_free(u);
		return r;
	}
	*out = u;
	return 0;
}
