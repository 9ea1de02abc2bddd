/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the split unit that belongs to a skeleton unit, in a .dwo (DWARF 5,
 * 7.3.2) or a .dwp (7.3.5), including GNU's format for DWARF 4.
 */
#include "dwarf/dwarf_unit.h"

/**
 * dwarf_split_from_dwo() - find the unit of a .dwo that belongs to @skeleton
 *
 * dwarf_file_scan() must have been called for @f.
 *
 * Return: the unit, owned by @f; NULL if the DWO ids do not match.
 */
struct dwarf_unit *dwarf_split_from_dwo(struct dwarf_file *f, const struct dwarf_unit *skeleton);

/*
 * Finds the unit in a .dwp by its .debug_cu_index. Returns 0 and a unit owned by the caller;
 * -ENOENT; -EBADMSG; -ENOMEM.
 */
int dwarf_split_from_dwp(struct dwarf_unit **out, struct dwarf_file *f,
			 const struct dwarf_unit *skeleton);
