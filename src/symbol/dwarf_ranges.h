/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The address ranges of a DIE: low and high pc, .debug_ranges, .debug_rnglists. */
#include <stdbool.h>
#include <stdint.h>

#include "symbol/dwarf_unit.h"
#include "symbol/intervals.h"

/* What a DIE says of its own place. */
struct dwarf_pcs {
	bool has_low, has_high, high_is_length;
	uint64_t low, high;
	bool has_ranges;
	struct dwarf_value ranges;
};

/* Take the attribute if it is one of place. */
void dwarf_pcs_take(struct dwarf_pcs *p, uint16_t at, const struct dwarf_value *v);

enum { DWARF_RANGES_MAX = 1 << 16 /* of one DIE */ };

/**
 * dwarf_ranges_add() - append the DIE's ranges to @out as intervals of @id
 *
 * Ranges that start at 0 are those of code that the linker threw away.
 *
 * Return: 0; -EBADMSG when the list is malformed (what came before is kept); -ENOMEM.
 */
int dwarf_ranges_add(const struct dwarf_unit *u, const struct dwarf_pcs *p, uint32_t id,
		     struct interval_list *out);

/* The same for the unit's own DIE. */
int dwarf_unit_ranges_add(const struct dwarf_unit *u, uint32_t id, struct interval_list *out);
