/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One unit's line table: address -> file and line. DWARF 2 to 5. */
#include <stddef.h>
#include <stdint.h>

#include "symbol/dwarf_unit.h"

struct dwarf_lines;

enum { DWARF_ROWS_MAX = 1 << 25, DWARF_FILES_MAX = 1 << 18 };

/**
 * dwarf_lines_build() - run the line program of @u (whose DIE has been read)
 *
 * A program that breaks off keeps the sequences that ended before.
 *
 * Return: 0; -ENODATA if the unit has none; -EBADMSG for a header that makes
 * no sense; -ENOMEM.
 */
int dwarf_lines_build(struct dwarf_lines **out, const struct dwarf_unit *u);
void dwarf_lines_free(struct dwarf_lines *l);

/* The row that covers @addr: 0 with the file's number and the line (0: none known), or -ENOENT. */
int dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr, uint32_t *out_file,
		     uint32_t *out_line);

/* Path of file number @file, with its directories before it; "" if there is none. Kept in @l. */
const char *dwarf_lines_path(struct dwarf_lines *l, const struct dwarf_unit *u, uint32_t file);

size_t dwarf_lines_bytes(const struct dwarf_lines *l);
