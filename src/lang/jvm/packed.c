/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's packed numbers (UNSIGNED5, see utilities/unsigned5.hpp) and the line tables that use
 * them. A number takes one to five bytes in base 64, least significant first. A byte from 192 on
 * announces that another one follows. Since JDK 20 no byte is zero: each is one more than its
 * value, and a zero marks the end.
 */
#include "lang/jvm/jvm.h"

enum {
	HIGH = 64, /* number of byte values that announce another byte */
	SHIFT = 6,
	BYTES_MAX = 5,
	PAIR_END = 0,
	PAIR_LONG = 0xff,
	PAIR_LINE_BITS = 3,
	PLACES_MAX = 1 << 16, /* byte code is limited to 64 KiB */
};

static uint32_t next_byte(struct jvm_packed *p)
{
	return p->at < p->len ? p->data[p->at++] : 0;
}

uint32_t jvm_packed_uint(struct jvm_packed *p)
{
	uint32_t low = 256 - HIGH - p->zero_free, sum = 0, shift = 0;

	for (int i = 0; i < BYTES_MAX; i++) {
		uint32_t b = next_byte(p);

		if (b < p->zero_free)
			break; /* the end mark */
		b -= p->zero_free;
		sum += b << shift;
		if (b < low)
			break;
		shift += SHIFT;
	}
	return sum;
}

int32_t jvm_packed_int(struct jvm_packed *p)
{
	uint32_t v = jvm_packed_uint(p);

	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

/* ---- line tables ------------------------------------------------------------ */

/*
 * A compressed line table. Each entry has the differences of the byte code index and of the
 * line to the entry before, both in one byte or as two signed numbers (HotSpot's
 * CompressedLineNumberWriteStream).
 */
struct lines {
	struct jvm_packed p;
	uint32_t place, line;
};

static bool lines_next(struct lines *l)
{
	uint32_t b;

	if (l->p.at >= l->p.len)
		return false;
	b = next_byte(&l->p);
	if (b == PAIR_END)
		return false;
	if (b == PAIR_LONG) {
		l->place += (uint32_t)jvm_packed_int(&l->p);
		l->line += (uint32_t)jvm_packed_int(&l->p);
	} else {
		l->place += b >> PAIR_LINE_BITS;
		l->line += b & ((1u << PAIR_LINE_BITS) - 1);
	}
	return true;
}

uint32_t jvm_line(const struct lang_function *f, uint32_t place)
{
	struct lines l = { .p = { f->lines, f->n_lines, 0, f->version } };
	uint32_t best = 0, line = 0;

	if (place >= PLACES_MAX)
		return 0;
	while (lines_next(&l)) {
		/* The first entry of an index is the valid one, as in HotSpot. */
		if (l.place > place || l.line > UINT16_MAX || l.place < best ||
		    (line && l.place == best))
			continue;
		best = l.place;
		line = l.line;
	}
	return line;
}

uint32_t jvm_first_line(const uint8_t *table, size_t len, bool zero_free)
{
	struct lines l = { .p = { table, len, 0, zero_free } };
	uint32_t first = 0;

	while (lines_next(&l))
		if (l.line && l.line <= UINT16_MAX && (!first || l.line < first))
			first = l.line;
	return first;
}
