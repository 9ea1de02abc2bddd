/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan reads the headers of units, which form a list. The DIE of a unit is read when the unit is
 * needed first, since a file may have tens of thousands of units.
 */
#include "dwarf/dwarf_file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdint.h>

#include "base/bisect.h"

/*
 * Reads the headers alone, so its cost is the number of units and not the size of the section.
 * Units of an unsupported version are skipped by their length.
 */
int dwarf_file_scan(struct dwarf_file *f)
{
	const struct elf_span *info = &f->sections->s[DWARF_INFO];
	uint64_t off = 0;

	while (off < info->len) {
		struct dwarf_cursor c = dwarf_cursor_at(info, off);
		struct dwarf_unit *u;
		bool is64;
		int r;

		if (!dwarf_unit_length(&c, &is64) || f->units.len >= DWARF_UNITS_MAX)
			return -EBADMSG;
		r = dwarf_unit_parse(&u, f, off, 0);
		off = (uint64_t)(c.end - info->data);
		if (r == -EBADMSG)
			continue; /* an unsupported version */
		if (r < 0)
			return r;
		r = vec_push(&f->units, u);
		if (r < 0) {
			dwarf_unit_free(u);
			return r;
		}
	}
	return 0;
}

void dwarf_file_fini(struct dwarf_file *f)
{
	for (size_t i = 0; i < f->units.len; i++)
		dwarf_unit_free(f->units.data[i]);
	vec_fini(&f->units);
	dwarf_sections_free(f->sections);
	f->sections = NULL;
}

struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t off)
{
	size_t lo = bisect(f->units.len, i, f->units.data[i]->off <= off);

	if (!lo || off >= f->units.data[lo - 1]->end)
		return NULL;
	return f->units.data[lo - 1];
}

static const char *string_of(const struct dwarf_value *v)
{
	return v->class == DWARF_STRING ? v->s : NULL;
}

/*
 * Reads the bases of tables. Other attributes contain indexes into these, so they are read later.
 */
static void read_base(struct dwarf_unit *u, uint16_t at, const struct dwarf_value *v)
{
	switch (at) {
	case DW_AT_str_offsets_base:
		u->str_offsets_base = v->u;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		u->addr_base = v->u;
		break;
	case DW_AT_rnglists_base:
		u->rnglists_base = v->u;
		break;
	case DW_AT_GNU_ranges_base:
		u->gnu_ranges_base = v->u;
		break;
	case DW_AT_GNU_dwo_id:
		u->dwo_id = v->u;
		break;
	default:
		break;
	}
}

/*
 * DW_AT_high_pc is an address or, since DWARF 4, the length of the code. dwarf_unit_read() adds a
 * length to DW_AT_low_pc, which may come later.
 */
static void read_unit_attr(struct dwarf_unit *u, uint16_t at, const struct dwarf_value *v)
{
	switch (at) {
	case DW_AT_name:
		u->name = string_of(v);
		break;
	case DW_AT_comp_dir:
		u->comp_dir = string_of(v);
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		u->dwo_name = string_of(v);
		break;
	case DW_AT_language:
		u->lang = (uint16_t)v->u;
		break;
	case DW_AT_low_pc:
		if (v->class == DWARF_ADDRESS)
			u->low_pc = v->u;
		break;
	case DW_AT_high_pc:
		u->has_high = true;
		u->high_is_length = v->class != DWARF_ADDRESS;
		u->high_pc = v->u;
		break;
	case DW_AT_ranges:
		u->has_ranges = true;
		u->ranges = v->u;
		u->ranges_is_index = v->class == DWARF_RANGE_INDEX;
		break;
	case DW_AT_stmt_list:
		u->has_stmt_list = true;
		u->stmt_list = v->u;
		break;
	default:
		break;
	}
}

/* Calls @fn for each attribute of the unit's DIE. */
static int read_unit_die(struct dwarf_unit *u,
			 void (*fn)(struct dwarf_unit *, uint16_t, const struct dwarf_value *))
{
	struct dwarf_cursor c = dwarf_unit_cursor(u, u->die_off);
	struct dwarf_die die;

	if (!dwarf_die_next(u, &c, &die) || !die.abbrev)
		return -EBADMSG;
	u->tag = die.abbrev->tag;
	for (uint32_t i = 0; i < die.abbrev->n_specs && !c.bad; i++) {
		const struct dwarf_spec *spec = dwarf_spec(u, die.abbrev, i);
		struct dwarf_value v = dwarf_attr_read(u, &c, spec);

		fn(u, spec->at, &v);
	}
	return c.bad ? -EBADMSG : 0;
}

int dwarf_unit_read(struct dwarf_unit *u)
{
	bool had_abbrevs = u->abbrevs;
	int r;

	if (u->read)
		return 0;
	/* The unit's DIE nearly always uses abbreviation 1, so parsing the others can wait. */
	r = had_abbrevs ? 0 : dwarf_unit_load_abbrevs(u, 1);
	if (r < 0)
		return r;
	r = read_unit_die(u, read_base);
	if (r < 0 && !had_abbrevs) { /* It uses another abbreviation: parse all of them. */
		r = dwarf_unit_load_abbrevs(u, SIZE_MAX);
		if (r < 0)
			return r;
		r = read_unit_die(u, read_base);
	}
	/*
	 * The DIE is read a second time, because attributes can precede the base of the table that
	 * they index.
	 */
	if (r == 0)
		r = read_unit_die(u, read_unit_attr);
	if (r == 0 && u->high_is_length) /* DW_AT_low_pc may have been the later attribute. */
		u->high_pc += u->low_pc;
	if (!had_abbrevs)
		dwarf_unit_drop_abbrevs(u);
	u->read = r == 0;
	return r;
}
