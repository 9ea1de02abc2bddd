/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .debug_ranges (DWARF 4, 2.17.3) and .debug_rnglists (DWARF 5, 2.17.3
 * and 7.25). Linkers replace references to discarded code by 0, by 1 (in
 * .debug_ranges) or by the greatest address. Such ranges are omitted.
 */
#include "dwarf/dwarf_ranges.h"

#include <dwarf.h>
#include <errno.h>

/* DW_AT_high_pc is an address in DWARF 2 and 3, and later usually the length of the code. */
void dwarf_pcs_set(struct dwarf_pcs *p, uint16_t at, const struct dwarf_value *v)
{
	if (v->class == DWARF_NONE)
		return;
	switch (at) {
	case DW_AT_low_pc:
		p->has_low = true;
		p->low = v->u;
		break;
	case DW_AT_high_pc:
		p->has_high = true;
		p->high_is_length = v->class != DWARF_ADDRESS;
		p->high = v->u;
		break;
	case DW_AT_ranges:
		p->has_ranges = true;
		p->ranges = *v;
		break;
	default:
		break;
	}
}

static int add(struct interval_list *out, uint64_t lo, uint64_t hi, uint32_t id)
{
	if (lo <= 1 || hi <= lo)
		return 0;
	return vec_push(out, (struct interval){ lo, hi, id });
}

/* A list in .debug_ranges has pairs of addresses: {max, x} sets the base, {0, 0} ends the list. */
static int add_ranges(const struct dwarf_unit *u, uint64_t off, uint32_t id,
		      struct interval_list *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(&u->gnu_ranges_sections->s[DWARF_RANGES], off);
	uint64_t max = u->addr_len == 8 ? UINT64_MAX : UINT32_MAX, base = u->low_pc;

	for (int i = 0; i < DWARF_RANGES_MAX; i++) {
		uint64_t lo = dwarf_uint(&c, u->addr_len), hi = dwarf_uint(&c, u->addr_len);
		int r;

		if (c.bad)
			return -EBADMSG;
		if (!lo && !hi)
			return 0;
		if (lo == max) {
			base = hi;
			continue;
		}
		r = add(out, base + lo, base + hi, id);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

/*
 * Reads one entry of .debug_rnglists. Returns 1 and a range; 0 if it only sets the base; -ENODATA
 * at the end; -EBADMSG.
 */
static int rnglist_entry(const struct dwarf_unit *u, struct dwarf_cursor *c, uint64_t *base,
			 uint64_t *lo, uint64_t *hi)
{
	uint8_t kind = dwarf_u8(c);
	bool ok = true;

	if (c->bad)
		return -EBADMSG;
	switch (kind) {
	case DW_RLE_end_of_list:
		return -ENODATA;
	case DW_RLE_base_addressx:
		return dwarf_unit_address(u, dwarf_uleb(c), base) ? 0 : -EBADMSG;
	case DW_RLE_base_address:
		*base = dwarf_uint(c, u->addr_len);
		return 0;
	case DW_RLE_startx_endx:
		ok = dwarf_unit_address(u, dwarf_uleb(c), lo);
		ok = dwarf_unit_address(u, dwarf_uleb(c), hi) && ok;
		break;
	case DW_RLE_startx_length:
		ok = dwarf_unit_address(u, dwarf_uleb(c), lo);
		*hi = *lo + dwarf_uleb(c);
		break;
	case DW_RLE_offset_pair:
		*lo = *base + dwarf_uleb(c);
		*hi = *base + dwarf_uleb(c);
		break;
	case DW_RLE_start_end:
		*lo = dwarf_uint(c, u->addr_len);
		*hi = dwarf_uint(c, u->addr_len);
		break;
	case DW_RLE_start_length:
		*lo = dwarf_uint(c, u->addr_len);
		*hi = *lo + dwarf_uleb(c);
		break;
	default:
		return -EBADMSG;
	}
	return ok && !c->bad ? 1 : -EBADMSG;
}

static int add_rnglist(const struct dwarf_unit *u, uint64_t off, uint32_t id,
		       struct interval_list *out)
{
	struct dwarf_cursor c = dwarf_cursor_at(&u->file->sections->s[DWARF_RNGLISTS], off);
	uint64_t base = u->low_pc, lo = 0, hi = 0;

	for (int i = 0; i < DWARF_RANGES_MAX; i++) {
		int r = rnglist_entry(u, &c, &base, &lo, &hi);

		if (r == -ENODATA)
			return 0;
		if (r > 0)
			r = add(out, lo, hi, id);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

/* For DW_FORM_rnglistx: a table of offsets, relative to its own start, is at the unit's base. */
static int rnglist_offset(const struct dwarf_unit *u, uint64_t index, uint64_t *out)
{
	const struct elf_span *s = &u->file->sections->s[DWARF_RNGLISTS];
	size_t len = u->is64 ? 8 : 4;
	struct dwarf_cursor c;

	if (index > s->len / len)
		return -EBADMSG;
	c = dwarf_cursor_at(s, u->rnglists_base + index * len);
	*out = u->rnglists_base + dwarf_uint(&c, len);
	return c.bad ? -EBADMSG : 0;
}

/* DWARF 5 replaced .debug_ranges by .debug_rnglists, whose encoding differs. */
static int add_list(const struct dwarf_unit *u, const struct dwarf_value *v, uint32_t id,
		    struct interval_list *out)
{
	uint64_t off = v->u;
	int r;

	if (v->class == DWARF_RANGE_INDEX) {
		r = rnglist_offset(u, v->u, &off);
		if (r < 0)
			return r;
	}
	if (u->version >= 5)
		return add_rnglist(u, off, id, out);
	return add_ranges(u, off + u->gnu_ranges_base, id, out);
}

int dwarf_ranges_add(const struct dwarf_unit *u, const struct dwarf_pcs *p, uint32_t id,
		     struct interval_list *out)
{
	if (p->has_ranges)
		return add_list(u, &p->ranges, id, out);
	if (p->has_low && p->has_high)
		return add(out, p->low, p->high_is_length ? p->low + p->high : p->high, id);
	return 0;
}

int dwarf_unit_ranges_add(const struct dwarf_unit *u, uint32_t id, struct interval_list *out)
{
	struct dwarf_pcs p = {
		.has_low = true,
		.has_high = u->has_high,
		.low = u->low_pc,
		.high = u->high_pc,
		.has_ranges = u->has_ranges,
		.ranges = { .class = u->ranges_is_index ? DWARF_RANGE_INDEX : DWARF_SECTION_OFFSET,
			    .u = u->ranges },
	};

	/* In GNU split DWARF, the base applies to lists of the .dwo, not to the skeleton's own. */
	if (p.has_ranges && u->version < 5)
		p.ranges.u -= u->gnu_ranges_base;
	return dwarf_ranges_add(u, &p, id, out);
}
