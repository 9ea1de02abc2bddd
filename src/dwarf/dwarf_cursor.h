/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bounds-checked reader for untrusted bytes. A read past the end sets @bad,
 * returns 0 and moves to the end. Loops therefore terminate, and a caller
 * checks @bad once after it has read a structure. Integers are little endian.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf/image.h"

struct dwarf_cursor {
	const uint8_t *p, *end;
	bool bad;
};

/* Returns a cursor from @off to the end of @s, which is bad if @off lies outside @s. */
static inline struct dwarf_cursor dwarf_cursor_at(const struct elf_span *s, uint64_t off)
{
	if (!s->data || off > s->len)
		return (struct dwarf_cursor){ .bad = true };
	return (struct dwarf_cursor){ .p = s->data + off, .end = s->data + s->len };
}

static inline size_t dwarf_left(const struct dwarf_cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* Marks the cursor as bad. Returns false, so that it can end a function. */
static inline bool dwarf_fail(struct dwarf_cursor *c)
{
	c->bad = true;
	c->p = c->end;
	return false;
}

static inline void dwarf_skip(struct dwarf_cursor *c, uint64_t n)
{
	if (n > dwarf_left(c))
		dwarf_fail(c);
	else
		c->p += n;
}

/* Reads an integer of @n bytes (at most 8). */
static inline uint64_t dwarf_uint(struct dwarf_cursor *c, size_t n)
{
	uint64_t v = 0;

	if (n > 8 || n > dwarf_left(c))
		return dwarf_fail(c);
	memcpy(&v, c->p, n);
	c->p += n;
	return v;
}

static inline uint8_t dwarf_u8(struct dwarf_cursor *c)
{
	return (uint8_t)dwarf_uint(c, 1);
}

static inline uint16_t dwarf_u16(struct dwarf_cursor *c)
{
	return (uint16_t)dwarf_uint(c, 2);
}

static inline uint32_t dwarf_u32(struct dwarf_cursor *c)
{
	return (uint32_t)dwarf_uint(c, 4);
}

static inline uint64_t dwarf_u64(struct dwarf_cursor *c)
{
	return dwarf_uint(c, 8);
}

/* Reads a section offset in the unit's format: DWARF 5, 7.4. */
static inline uint64_t dwarf_offset(struct dwarf_cursor *c, bool is64)
{
	return dwarf_uint(c, is64 ? 8 : 4);
}

/* LEB128: DWARF 5, 7.6. Bits beyond 64 are dropped. */
static inline uint64_t dwarf_uleb(struct dwarf_cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	return dwarf_fail(c);
}

static inline int64_t dwarf_sleb(struct dwarf_cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	while (c->p < c->end) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80)
			continue;
		if (shift < 64 && (b & 0x40))
			v |= ~0ULL << shift;
		return (int64_t)v;
	}
	return dwarf_fail(c);
}

/* Returns the NUL-terminated string at the cursor, or "" if it is not terminated. */
static inline const char *dwarf_string(struct dwarf_cursor *c)
{
	const char *s = (const char *)c->p;
	const uint8_t *nul = c->p < c->end ? memchr(c->p, 0, dwarf_left(c)) : NULL;

	if (!nul) {
		dwarf_fail(c);
		return "";
	}
	c->p = nul + 1;
	return s;
}

/*
 * Reads the initial length of a unit or table (DWARF 5, 7.4), sets *@is64 to its format, and limits
 * @c to its end.
 */
static inline bool dwarf_unit_length(struct dwarf_cursor *c, bool *is64)
{
	uint64_t len = dwarf_u32(c);

	*is64 = len == 0xffffffff;
	if (*is64)
		len = dwarf_u64(c);
	else if (len >= 0xfffffff0)
		return dwarf_fail(c);
	if (c->bad || len > dwarf_left(c))
		return dwarf_fail(c);
	c->end = c->p + len;
	return true;
}
