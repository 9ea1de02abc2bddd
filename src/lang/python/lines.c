/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a place in the byte code into a line, with one of three tables: co_lnotab up to 3.9
 * (Objects/lnotab_notes.txt in CPython's source), co_linetable of PEP 626 in 3.10, and the location
 * table (Objects/locations.md) from 3.11 on. Each is decoded from its start. A corrupt table yields
 * a wrong line, but never an access outside of it.
 */
#include "lang/python/python.h"

/* The line of an instruction that the compiler added, such as a jump back to a loop's head. */
#define NO_LINE INT64_MIN

/* The entries are pairs: bytes of code, then a signed line delta. @place counts bytes. */
static int64_t line_lnotab(const struct lang_function *f, uint32_t place)
{
	int64_t line = f->first_line;
	uint64_t addr = 0;

	for (uint32_t i = 0; i + 1 < f->n_lines; i += 2) {
		addr += f->lines[i];
		if (addr > place)
			break;
		line += (int8_t)f->lines[i + 1];
	}
	return line;
}

/*
 * The entries are pairs: bytes of code, then the signed line delta that applies to them; -128 means
 * that they have no line. @place counts bytes.
 */
static int64_t line_pep626(const struct lang_function *f, uint32_t place)
{
	int64_t line = f->first_line;
	uint64_t end = 0;

	for (uint32_t i = 0; i + 1 < f->n_lines; i += 2) {
		int8_t delta = (int8_t)f->lines[i + 1];

		if (delta != -128)
			line += delta;
		end += f->lines[i];
		if (place < end)
			return delta == -128 ? NO_LINE : line;
	}
	return line;
}

struct cursor {
	const uint8_t *p, *end;
};

static uint8_t take(struct cursor *c)
{
	return c->p < c->end ? *c->p++ : 0;
}

/* Reads six bits per byte, the least significant first; bit 6 is set if another byte follows. */
static uint64_t take_varint(struct cursor *c)
{
	uint8_t b = take(c);
	uint64_t v = b & 63;

	for (unsigned int shift = 6; (b & 64) && shift < 36; shift += 6) {
		b = take(c);
		v |= (uint64_t)(b & 63) << shift;
	}
	return v;
}

/* Reads a varint whose lowest bit is the sign. */
static int64_t take_svarint(struct cursor *c)
{
	uint64_t v = take_varint(c);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* The kinds of entries: kinds below 10 are short forms, 10 to 12 are one-line forms. */
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

/*
 * Reads the remainder of an entry and returns its line delta. The first byte of an entry has bit 7
 * set.
 */
static int64_t take_delta(struct cursor *c, unsigned int kind)
{
	int64_t delta = 0;

	if (kind == NO_COLUMNS || kind == LONG)
		delta = take_svarint(c);
	else if (kind >= ONE_LINE && kind < NO_COLUMNS)
		delta = kind - ONE_LINE;
	while (c->p < c->end && !(*c->p & 0x80))
		c->p++;
	return delta;
}

/* @place counts bytes; entries count code units, which have two bytes. */
static int64_t line_location(const struct lang_function *f, uint32_t place)
{
	struct cursor c = { f->lines, f->lines + f->n_lines };
	int64_t line = f->first_line;
	uint64_t end = 0;

	while (c.p < c.end) {
		uint8_t first = take(&c);

		line += take_delta(&c, first >> 3 & 15);
		end += 2 * ((first & 7) + 1);
		if (place < end)
			return (first >> 3 & 15) == NO_LOCATION ? NO_LINE : line;
	}
	return line;
}

uint32_t python_line(const struct lang_function *f, uint32_t place)
{
	int64_t line;

	if (f->version >= 11)
		line = line_location(f, place < f->bytecode ? 0 : place - f->bytecode);
	else if (place > INT32_MAX) /* -1: the frame has not executed an instruction */
		line = f->first_line;
	else if (f->version == 10)
		line = line_pep626(f, 2 * place);
	else
		line = line_lnotab(f, place);
	if (line == NO_LINE)
		return 0;
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : f->first_line;
}
