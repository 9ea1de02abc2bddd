/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The second half of split units: DWARF 5, 7.3.2 and 7.3.5; GNU's form before it. */
#include "symbol/dwarf_unit.h"

/**
 * dwarf_split_from_dwo() - the unit of a .dwo that belongs to @skeleton
 *
 * @f has been scanned; the unit found stays its. Return: NULL if there is none.
 */
struct dwarf_unit *dwarf_split_from_dwo(struct dwarf_file *f, const struct dwarf_unit *skeleton);

/* The same out of a .dwp, by its index: 0 and a unit for the caller to free; -ENOENT, -EBADMSG. */
int dwarf_split_from_dwp(struct dwarf_unit **out, struct dwarf_file *f,
			 const struct dwarf_unit *skeleton);
