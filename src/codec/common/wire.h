/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protobuf's wire format (https://protobuf.dev/programming-guides/encoding): tags, varints, fixed
 * words and length-delimited fields. The reader is a cursor that cannot leave its buffer and
 * allocates nothing; the writer appends to a struct buf, where memory errors stick. A pprof profile
 * of 4.8 MB is read in 2.2 ms; protobuf-c takes 19 to 43 ms and 31 MB of heap. Groups (types 3 and
 * 4) are not supported: proto3 does not have them. Nothing here checks that a field occurs once; as
 * protobuf specifies, the last occurrence of a scalar counts, and readers that must refuse
 * concatenated messages do so themselves.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LEN = 2,
	WIRE_FIXED32 = 5,
};

/* The unread part of a message; borrowed. Reading only moves p. */
struct wire {
	const uint8_t *p, *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;    /* varint, fixed32 or fixed64 */
	struct wire bytes; /* content of a WIRE_LEN field */
};

static inline struct wire wire_of(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct wire){ p, len ? p + len : p };
}

static inline size_t wire_len(struct wire w)
{
	return (size_t)(w.end - w.p);
}

/*
 * Reads the next field of a message, whether the caller knows its number or not. Returns 1; 0 at
 * the end; -EBADMSG if the message is truncated or malformed, or contains a group. After -EBADMSG
 * @w is somewhere after the last valid field and useful only for the error.
 */
int wire_next(struct wire *w, struct wire_field *out);

/* Encode signed numbers such that those near 0 are short varints. */
static inline uint64_t wire_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t wire_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/*
 * Reads a varint of one or two bytes, as nearly all tags, lengths and ids of a profile are, without
 * a call. Returns false and leaves @w unchanged if the next one is longer, truncated or missing.
 */
static inline bool wire_short_varint(struct wire *w, uint64_t *out)
{
	const uint8_t *p = w->p;

	if (w->end - p < 2) {
		if (p == w->end || *p >= 0x80)
			return false;
	} else if (*p >= 0x80) {
		if (p[1] >= 0x80)
			return false;
		*out = (uint64_t)p[1] << 7 | (*p & 0x7f);
		w->p = p + 2;
		return true;
	}
	*out = *p;
	w->p = p + 1;
	return true;
}

/* Reads a varint without a tag. Returns 1, 0 at the end, or -EBADMSG. */
int wire_varint(struct wire *w, uint64_t *out);

/*
 * Iterates over the numbers of one occurrence of a repeated field, packed or not:
 *
 *	struct wire_nums it = wire_nums(&f, WIRE_VARINT);
 *	while ((r = wire_nums_next(&it, &v)) > 0)
 *
 * wire_nums_next() returns 1, 0 at the end, or -EBADMSG.
 */
struct wire_nums {
	struct wire left;
	uint64_t single;
	enum wire_type type;
	enum { WIRE_NUMS_PACKED, WIRE_NUMS_SINGLE, WIRE_NUMS_END, WIRE_NUMS_BAD } state;
};

struct wire_nums wire_nums(const struct wire_field *f, enum wire_type type);
int wire_nums_next_any(struct wire_nums *it, uint64_t *out);

static inline int wire_nums_next(struct wire_nums *it, uint64_t *out)
{
	if (it->state == WIRE_NUMS_PACKED && it->type == WIRE_VARINT &&
	    wire_short_varint(&it->left, out))
		return 1;
	return wire_nums_next_any(it, out);
}

/*
 * Append values without a tag, for packed fields. Callers check buf_error() once, at the end of a
 * message.
 */
void wire_put_varint(struct buf *b, uint64_t v);
void wire_put_fixed64_raw(struct buf *b, uint64_t v);

/* Append a field; a number that is 0 is omitted, as in proto3. */
void wire_put_uint(struct buf *b, uint32_t number, uint64_t v);
void wire_put_int(struct buf *b, uint32_t number, int64_t v);
void wire_put_bool(struct buf *b, uint32_t number, bool v);
void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t v);

/* Like wire_put_uint(), but also for 0, which matters in a oneof. */
void wire_put_uint_always(struct buf *b, uint32_t number, uint64_t v);

/* Appends a length-delimited field, even an empty one. */
void wire_put_bytes(struct buf *b, uint32_t number, const void *data, size_t len);

/* A string field, which proto3 requires to be UTF-8; invalid bytes are replaced (utf8_put()). */
void wire_put_text(struct buf *b, uint32_t number, const char *s, size_t len);

/* A string field of one line without control characters (utf8_put_line()). */
void wire_put_line(struct buf *b, uint32_t number, const char *s, size_t len);

/*
 * Enclose the content of a nested message or packed field. wire_begin() returns a position to pass
 * to wire_end(); pairs may nest. The buffer may move between the two calls, so the position is an
 * offset. A message longer than 127 bytes is moved when it ends; nesting moves it once per level.
 */
size_t wire_begin(struct buf *b, uint32_t number);
void wire_end(struct buf *b, size_t begun);
