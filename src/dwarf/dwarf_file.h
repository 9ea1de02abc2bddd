/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The units of one file: finding them, and the attributes of each unit's own DIE. Not thread-safe.
 */
#include "dwarf/dwarf_unit.h"

/*
 * Parses all unit headers of @f, whose sections must be set. Returns 0; -EBADMSG with the units
 * before the error stored; -ENOMEM.
 */
int dwarf_file_scan(struct dwarf_file *f);
void dwarf_file_fini(struct dwarf_file *f);

/* Returns the unit that contains @off, or NULL. */
struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t off);

/* Reads the unit's own DIE, once. Returns 0, -EBADMSG or -ENOMEM. */
int dwarf_unit_read(struct dwarf_unit *u);
