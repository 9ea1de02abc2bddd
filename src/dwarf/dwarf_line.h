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

/* A position in the source. Numbers are 0 where they are unknown. */
struct dwarf_position {
	uint32_t file; /* number in the unit's table; DWARF_NO_FILE: unknown */
	uint32_t line;
	uint32_t discriminator; /* of a call or block in the line, see dwarf_discriminator() */
};

/* Numbers of files have 20 bits, base discriminators 12. */
enum { DWARF_NO_FILE = (1 << 20) - 1, DWARF_DISCRIMINATOR_MAX = (1 << 12) - 1 };

/*
 * The base discriminator of a DW_LNS discriminator as LLVM encodes it, by which sample profiles
 * distinguish the blocks of a line; the copy number and the factor of unrolled code are dropped.
 */
uint32_t dwarf_discriminator(uint64_t encoded);

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

/* Finds the row that covers @addr. Returns 0 or -ENOENT. */
int dwarf_lines_find(const struct dwarf_lines *l, uint64_t addr, struct dwarf_position *out);

/* Returns the path of file number @file including its directory, or "". Borrowed from @l. */
const char *dwarf_lines_path(struct dwarf_lines *l, const struct dwarf_unit *u, uint32_t file);

/*
 * Returns the MD5 of the compiled file number @file, 16 bytes borrowed from the section; NULL
 * if the table has none (before DWARF 5, and from gcc).
 */
const uint8_t *dwarf_lines_md5(const struct dwarf_lines *l, uint32_t file);

size_t dwarf_lines_bytes(const struct dwarf_lines *l);
