/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading forward through bytes that a stranger wrote. A read past the end
 * sets @bad, gives 0 and moves to the end: loops stop, and one look at @bad
 * at the end of a piece is enough.
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

/* From @off to the end of @s; bad from the start when @off is outside. */
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

/* Little endian, @n bytes (at most 8). */
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

static inline uint64_t dwarf_offset(struct dwarf_cursor *c, bool is64)
{
	return dwarf_uint(c, is64 ? 8 : 4);
}

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

/* A NUL-terminated string, or "" when it runs off the end. */
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

/* The length that starts a unit or table; *@is64 becomes its format. Bounds @c to it. */
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
