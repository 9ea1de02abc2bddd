/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/jfr/jfr_cursor.h"

#include <string.h>

#include "base/buf.h"

enum { VARINT_BYTES = 9, BITS = 7, CONTINUES = 0x80 };

/* An event or a list may claim to end before the bytes of it that were read already. */
static bool has(struct jfr_cursor *c, uint64_t n)
{
	if (c->bad || c->at > c->end || n > c->end - c->at)
		c->bad = true;
	return !c->bad;
}

uint8_t jfr_byte(struct jfr_cursor *c)
{
	return has(c, 1) ? c->data[c->at++] : 0;
}

/* Unlike in protobuf, the ninth byte has eight bits, so nine bytes hold 64 bits. */
uint64_t jfr_varint(struct jfr_cursor *c)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < VARINT_BYTES; i++) {
		uint8_t b = jfr_byte(c);

		if (i == VARINT_BYTES - 1)
			return c->bad ? 0 : v | (uint64_t)b << BITS * i;
		v |= (uint64_t)(b & ~CONTINUES) << BITS * i;
		if (!(b & CONTINUES))
			break;
	}
	return c->bad ? 0 : v;
}

void jfr_skip(struct jfr_cursor *c, uint64_t n)
{
	if (has(c, n))
		c->at += n;
}

static uint64_t big_endian(struct jfr_cursor *c, unsigned int n_bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n_bytes; i++)
		v = v << 8 | jfr_byte(c);
	return c->bad ? 0 : v;
}

uint16_t jfr_be16(struct jfr_cursor *c)
{
	return (uint16_t)big_endian(c, 2);
}

uint32_t jfr_be32(struct jfr_cursor *c)
{
	return (uint32_t)big_endian(c, 4);
}

uint64_t jfr_be64(struct jfr_cursor *c)
{
	return big_endian(c, 8);
}

static struct jfr_text bytes(struct jfr_cursor *c, enum jfr_text_kind kind, uint64_t len)
{
	struct jfr_text t = { .kind = kind, .bytes = c->data + c->at, .len = len };

	jfr_skip(c, len);
	return c->bad ? (struct jfr_text){ 0 } : t;
}

/* A text of UTF-16 code units has as many bytes as its integers take. */
static struct jfr_text chars(struct jfr_cursor *c, uint64_t n)
{
	struct jfr_text t = { .kind = JFR_TEXT_CHARS, .bytes = c->data + c->at };
	size_t begin = c->at;

	for (uint64_t i = 0; i < n && !c->bad; i++)
		jfr_varint(c);
	t.len = c->at - begin;
	return c->bad ? (struct jfr_text){ 0 } : t;
}

struct jfr_text jfr_text(struct jfr_cursor *c)
{
	uint8_t kind = jfr_byte(c);

	switch (kind) {
	case JFR_TEXT_NULL:
	case JFR_TEXT_EMPTY:
		return (struct jfr_text){ .kind = kind };
	case JFR_TEXT_CONSTANT:
		return (struct jfr_text){ .kind = kind, .ref = jfr_varint(c) };
	case JFR_TEXT_UTF8:
	case JFR_TEXT_LATIN1:
		return bytes(c, kind, jfr_varint(c));
	case JFR_TEXT_CHARS:
		return chars(c, jfr_varint(c));
	default:
		c->bad = true;
		return (struct jfr_text){ 0 };
	}
}

/* Appends a code point as UTF-8, even if it is a surrogate. */
static void put_code(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_put_byte(out, (uint8_t)code);
	} else if (code < 0x800) {
		buf_put_byte(out, (uint8_t)(0xc0 | code >> 6));
		buf_put_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buf_put_byte(out, (uint8_t)(0xe0 | code >> 12));
		buf_put_byte(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
		buf_put_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
	} else {
		buf_put_byte(out, (uint8_t)(0xf0 | code >> 18));
		buf_put_byte(out, (uint8_t)(0x80 | (code >> 12 & 0x3f)));
		buf_put_byte(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
		buf_put_byte(out, (uint8_t)(0x80 | (code & 0x3f)));
	}
}

/* Joins surrogates; a lone one becomes three bytes that are not valid UTF-8. */
static void put_chars(struct jfr_text t, struct buf *out)
{
	struct jfr_cursor c = { .data = t.bytes, .end = t.len };
	uint32_t high = 0;

	while (c.at < c.end && !c.bad) {
		uint32_t unit = (uint16_t)jfr_varint(&c);

		if (high && unit >> 10 == 0xdc00 >> 10)
			unit = 0x10000 + ((high & 0x3ff) << 10 | (unit & 0x3ff));
		else if (high)
			put_code(out, high);
		high = unit >> 10 == 0xd800 >> 10 ? unit : 0;
		if (!high)
			put_code(out, unit);
	}
	if (high)
		put_code(out, high);
}

void jfr_text_put(struct jfr_text t, struct buf *out)
{
	if (t.kind == JFR_TEXT_UTF8)
		buf_put(out, t.bytes, t.len);
	else if (t.kind == JFR_TEXT_CHARS)
		put_chars(t, out);
	else if (t.kind == JFR_TEXT_LATIN1)
		for (size_t i = 0; i < t.len; i++)
			put_code(out, t.bytes[i]);
}

bool jfr_text_is(struct jfr_text t, const char *s)
{
	size_t len = strlen(s);

	/* All three encodings store an ASCII character as one byte with the same value. */
	return t.bytes && t.len == len && memcmp(t.bytes, s, len) == 0;
}
