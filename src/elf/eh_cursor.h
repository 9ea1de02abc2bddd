/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads numbers and code addresses from an unwind section, forward and never past the end. A read
 * past the end returns 0 and sets bad, which the caller checks once, when it is done.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "elf/image.h"

struct eh_frame_source {
	struct elf_span span;
	bool debug_frame; /* the section is .debug_frame, not .eh_frame */
	bool open_ended;  /* the span is longer than the section, which ends at a zero length */
	uint64_t text_base;
	uint64_t data_base; /* bases of DW_EH_PE_textrel and _datarel */
};

/* The encodings of addresses (LSB 5.0, 10.5.1): a format, a base and a flag. */
enum {
	EH_PE_ABSPTR = 0x00,
	EH_PE_ULEB128 = 0x01,
	EH_PE_UDATA2 = 0x02,
	EH_PE_UDATA4 = 0x03,
	EH_PE_UDATA8 = 0x04,
	EH_PE_SLEB128 = 0x09,
	EH_PE_SDATA2 = 0x0a,
	EH_PE_SDATA4 = 0x0b,
	EH_PE_SDATA8 = 0x0c,
	EH_PE_FORMAT = 0x0f,
	EH_PE_PCREL = 0x10,
	EH_PE_TEXTREL = 0x20,
	EH_PE_DATAREL = 0x30,
	EH_PE_APPLICATION = 0x70,
	EH_PE_INDIRECT = 0x80,
	EH_PE_OMIT = 0xff,
};

struct eh_cursor {
	const struct eh_frame_source *src;
	const uint8_t *p, *end;
	bool bad;
};

/* The current offset in the section. */
static inline uint64_t eh_cursor_off(const struct eh_cursor *c)
{
	return (uint64_t)(c->p - c->src->span.data);
}

/* Reads the next @n bytes; NULL at the end. */
static inline const uint8_t *eh_take(struct eh_cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (n > (uint64_t)(c->end - p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

/* Reads a little-endian number of @n bytes, at most 8. */
static inline uint64_t eh_take_uint(struct eh_cursor *c, unsigned int n)
{
	const uint8_t *p = eh_take(c, n);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, n);
	return v;
}

/* Reads a LEB128. Bits past the 64th are dropped, as other readers do. */
uint64_t eh_take_leb(struct eh_cursor *c, bool is_signed);

static inline uint64_t eh_take_uleb(struct eh_cursor *c)
{
	if (c->p != c->end && *c->p < 0x80)
		return *c->p++;
	return eh_take_leb(c, false);
}

static inline int64_t eh_take_sleb(struct eh_cursor *c)
{
	return (int64_t)eh_take_leb(c, true);
}

/* Reads a value in the format of @enc's low bits; false if there is no such format. */
bool eh_take_formatted(struct eh_cursor *c, uint8_t enc, uint64_t *out);

/* Reads a code address; false if its encoding has no meaning here. */
bool eh_take_address(struct eh_cursor *c, uint8_t enc, uint64_t *out);
