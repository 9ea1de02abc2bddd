/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A nested message is written in place: one byte is reserved for its length, and only content of
 * 128 bytes or more is moved to make room for a longer one. Samples, locations and functions are
 * nearly always shorter.
 */
#include "codec/common/wire.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

enum {
	WIRE_VARINT_MAX = 10, /* length of a 64-bit number in bytes */
	WIRE_TYPE_BITS = 3,
	WIRE_TYPE_MASK = (1 << WIRE_TYPE_BITS) - 1,
};

/* Field numbers have at most 29 bits, so a tag fits in 32. */
#define WIRE_TAG_MAX UINT32_MAX

/*
 * Reads up to ten bytes. A number that needs more than 64 bits is an error, although some libraries
 * truncate it: a truncated length would be read as another one.
 */
static int read_long_varint(struct wire *w, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < WIRE_VARINT_MAX && w->p < w->end; i++) {
		uint8_t c = *w->p++;

		/* Nine bytes hold 63 bits, so only one bit remains for the tenth byte. */
		if (i == WIRE_VARINT_MAX - 1 && c > 1)
			return -EBADMSG;
		v |= (uint64_t)(c & 0x7f) << (7 * i);
		if (c < 0x80) {
			*out = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static inline int read_varint(struct wire *w, uint64_t *out)
{
	return wire_short_varint(w, out) ? 0 : read_long_varint(w, out);
}

static int read_fixed(struct wire *w, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	if (wire_len(*w) < len)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++)
		v |= (uint64_t)w->p[i] << (8 * i);
	w->p += len;
	*out = v;
	return 0;
}

static inline int read_number(struct wire *w, enum wire_type type, uint64_t *out)
{
	switch (type) {
	case WIRE_VARINT:
		return read_varint(w, out);
	case WIRE_FIXED64:
		return read_fixed(w, 8, out);
	case WIRE_FIXED32:
		return read_fixed(w, 4, out);
	default:
		return -EBADMSG;
	}
}

/* The length is compared with what remains before it is used, so it cannot overflow a pointer. */
static inline int read_bytes(struct wire *w, struct wire *out)
{
	uint64_t len;
	int r = read_varint(w, &len);

	if (r < 0)
		return r;
	if (len > wire_len(*w))
		return -EBADMSG;
	*out = (struct wire){ w->p, w->p + len };
	w->p += len;
	return 0;
}

int wire_varint(struct wire *w, uint64_t *out)
{
	int r;

	if (w->p == w->end)
		return 0;
	r = read_varint(w, out);
	return r < 0 ? r : 1;
}

int wire_next(struct wire *w, struct wire_field *out)
{
	uint64_t tag;
	int r;

	if (w->p == w->end)
		return 0;
	r = read_varint(w, &tag);
	if (r < 0)
		return r;
	if (tag > WIRE_TAG_MAX || tag >> WIRE_TYPE_BITS == 0)
		return -EBADMSG;
	*out = (struct wire_field){
		.number = (uint32_t)(tag >> WIRE_TYPE_BITS),
		.type = (enum wire_type)(tag & WIRE_TYPE_MASK),
	};
	if (out->type == WIRE_LEN)
		r = read_bytes(w, &out->bytes);
	else
		r = read_number(w, out->type, &out->value);
	return r < 0 ? r : 1;
}

/*
 * A packed field is a WIRE_LEN field of raw numbers. proto3 readers must accept both forms, and
 * concatenate occurrences of either (Encoding, Packed Repeated Fields).
 */
struct wire_nums wire_nums(const struct wire_field *f, enum wire_type type)
{
	struct wire_nums it = { .type = type, .state = WIRE_NUMS_BAD };

	if (f->type == WIRE_LEN) {
		it.left = f->bytes;
		it.state = WIRE_NUMS_PACKED;
	} else if (f->type == type) {
		it.single = f->value;
		it.state = WIRE_NUMS_SINGLE;
	}
	return it;
}

int wire_nums_next_any(struct wire_nums *it, uint64_t *out)
{
	int r;

	switch (it->state) {
	case WIRE_NUMS_SINGLE:
		it->state = WIRE_NUMS_END;
		*out = it->single;
		return 1;
	case WIRE_NUMS_PACKED:
		if (it->left.p == it->left.end)
			return 0;
		r = read_number(&it->left, it->type, out);
		return r < 0 ? r : 1;
	case WIRE_NUMS_END:
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Returns the number of bytes written, at least one. */
static size_t encode_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

void wire_put_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[WIRE_VARINT_MAX];

	buf_put(b, bytes, encode_varint(bytes, v));
}

void wire_put_fixed64_raw(struct buf *b, uint64_t v)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	buf_put(b, bytes, sizeof(bytes));
}

static void put_tag(struct buf *b, uint32_t number, enum wire_type type)
{
	wire_put_varint(b, (uint64_t)number << WIRE_TYPE_BITS | type);
}

void wire_put_uint_always(struct buf *b, uint32_t number, uint64_t v)
{
	uint8_t bytes[2 * WIRE_VARINT_MAX];
	size_t n;

	n = encode_varint(bytes, (uint64_t)number << WIRE_TYPE_BITS | WIRE_VARINT);
	n += encode_varint(bytes + n, v);
	buf_put(b, bytes, n);
}

void wire_put_uint(struct buf *b, uint32_t number, uint64_t v)
{
	if (v)
		wire_put_uint_always(b, number, v);
}

void wire_put_int(struct buf *b, uint32_t number, int64_t v)
{
	wire_put_uint(b, number, (uint64_t)v);
}

void wire_put_bool(struct buf *b, uint32_t number, bool v)
{
	wire_put_uint(b, number, v);
}

void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t v)
{
	if (!v)
		return;
	put_tag(b, number, WIRE_FIXED64);
	wire_put_fixed64_raw(b, v);
}

void wire_put_bytes(struct buf *b, uint32_t number, const void *data, size_t len)
{
	put_tag(b, number, WIRE_LEN);
	wire_put_varint(b, len);
	buf_put(b, data, len);
}

void wire_put_text(struct buf *b, uint32_t number, const char *s, size_t len)
{
	size_t at;

	if (utf8_valid(s, len) == len) {
		wire_put_bytes(b, number, s, len);
		return;
	}
	at = wire_begin(b, number);
	utf8_put(b, s, len);
	wire_end(b, at);
}

void wire_put_line(struct buf *b, uint32_t number, const char *s, size_t len)
{
	size_t at;

	if (utf8_is_line(s, len)) {
		wire_put_bytes(b, number, s, len);
		return;
	}
	at = wire_begin(b, number);
	utf8_put_line(b, s, len);
	wire_end(b, at);
}

size_t wire_begin(struct buf *b, uint32_t number)
{
	put_tag(b, number, WIRE_LEN);
	buf_put_byte(b, 0);
	return b->len;
}

void wire_end(struct buf *b, size_t begun)
{
	static const uint8_t room[WIRE_VARINT_MAX];
	uint8_t bytes[WIRE_VARINT_MAX];
	size_t len = b->len - begun;
	size_t n = encode_varint(bytes, len);

	if (buf_error(b))
		return;
	if (n > 1) {
		buf_put(b, room, n - 1);
		if (buf_error(b))
			return;
		memmove(b->data + begun + n - 1, b->data + begun, len);
	}
	memcpy(b->data + begun - 1, bytes, n);
}
