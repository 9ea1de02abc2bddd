/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The line table of one unit from .debug_line: maps addresses to files and
 * lines. Supports DWARF 2 to 5. Owned by dwarf.c; not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_unit.h"

enum { DWARF_ROWS_MAX = 1 << 25, DWARF_FILES_MAX = 1 << 18 };

/**
 * dwarf_lines_build() - run the line number program of @u
 *
 * The unit's DIE must have been read. If the program is malformed, complete
 * sequences before the error are used.
 *
 * Return: 0; -ENODATA if the unit has no line table; -EBADMSG if its header is
 * invalid; -ENOMEM.
 */
int dwarf_lines_build(struct dwarf_lines **out, const struct dwarf_unit *u);
void dwarf_lines_free(struct dwarf_lines *l);

/*
 * Finds the row that covers @addr: its file number and line (0 if unknown). Returns 0 or -ENOENT.
 */
int dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr, uint32_t *out_file,
		     uint32_t *out_line);

/* Returns the path of file number @file including its directory, or "". Borrowed from @l. */
const char *dwarf_lines_path(struct dwarf_lines *l, const struct dwarf_unit *u, uint32_t file);

size_t dwarf_lines_bytes(const struct dwarf_lines *l);
