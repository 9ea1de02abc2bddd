/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The address ranges of a DIE from DW_AT_low_pc and DW_AT_high_pc,
 * .debug_ranges (DWARF 2 to 4) or .debug_rnglists (DWARF 5). Stateless.
 */
#include <stdbool.h>
#include <stdint.h>

#include "dwarf/dwarf_unit.h"
#include "dwarf/intervals.h"

/* The attributes of a DIE that define its address ranges. */
struct dwarf_pcs {
	bool has_low, has_high, high_is_length;
	uint64_t low, high;
	bool has_ranges;
	struct dwarf_value ranges;
};

/* Stores attribute @at in @p if it defines an address range; ignores others. */
void dwarf_pcs_set(struct dwarf_pcs *p, uint16_t at, const struct dwarf_value *v);

enum { DWARF_RANGES_MAX = 1 << 16 /* per DIE */ };

/**
 * dwarf_ranges_add() - append the DIE's ranges to @out as intervals with @id
 *
 * Ranges that start at 0 or 1 are omitted: they belong to code that the linker
 * discarded.
 *
 * Return: 0; -EBADMSG if the list is malformed, with the ranges before the
 * error appended; -ENOMEM.
 */
int dwarf_ranges_add(const struct dwarf_unit *u, const struct dwarf_pcs *p, uint32_t id,
		     struct interval_list *out);

/* Appends the ranges of the unit's own DIE. Returns the same values as dwarf_ranges_add(). */
int dwarf_unit_ranges_add(const struct dwarf_unit *u, uint32_t id, struct interval_list *out);
