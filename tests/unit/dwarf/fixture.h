/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tests of this folder write debug sections byte by byte into buffers and read them through a
 * struct dwarf_file. Each section is copied to memory of exactly its size, so that the sanitizer
 * reports every read past its end.
 */
#include <stdint.h>

#include "base/buf.h"
#include "dwarf/dwarf_file.h"

struct dwarf_fixture {
	struct buf s[DWARF_SECTION_MAX];
	struct dwarf_file file;
};

/* Setup and teardown of a test whose state is an empty fixture. */
int dwarf_fixture_setup(void **state);
int dwarf_fixture_teardown(void **state);

#define DWARF_TEST(fn)                                                                             \
	cmocka_unit_test_setup_teardown(fn, dwarf_fixture_setup, dwarf_fixture_teardown)

/* Makes the sections available as @f->file. Replaces those of an earlier call. */
void dwarf_fixture_load(struct dwarf_fixture *f);

/* Loads the sections and scans .debug_info, which must have a unit. Returns the first unit. */
struct dwarf_unit *dwarf_fixture_unit(struct dwarf_fixture *f);

/* Append a little-endian number of @n bytes, a LEB128 number, or a string with its NUL. */
void put_uint(struct buf *b, uint64_t v, size_t n);
void put_uleb(struct buf *b, uint64_t v);
void put_sleb(struct buf *b, int64_t v);
void put_string(struct buf *b, const char *s);

#define PUT(b, ...)                                                                                \
	buf_put((b), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Overwrites the 4 bytes at @at by the number of bytes after them. */
void patch_length(struct buf *b, size_t at);

/*
 * Appends the header of a compile unit to .debug_info, in the 32-bit format and with addresses of
 * 8 bytes. Its abbreviations are at @abbrev_off. Returns its offset, for end_unit().
 */
size_t begin_unit(struct dwarf_fixture *f, uint16_t version, uint32_t abbrev_off);
void end_unit(struct dwarf_fixture *f, size_t unit);

/*
 * Appends an abbreviation: the arguments after @has_children are pairs of DW_AT and DW_FORM, all
 * below 2^14. end_abbrevs() ends the table.
 */
#define ABBREV(f, code, tag, has_children, ...)                                                    \
	put_abbrev((f), (code), (tag), (has_children), (const uint16_t[]){ __VA_ARGS__, 0, 0 })
void put_abbrev(struct dwarf_fixture *f, uint64_t code, uint16_t tag, bool has_children,
		const uint16_t *specs);
void end_abbrevs(struct dwarf_fixture *f);
