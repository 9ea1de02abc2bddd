/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protobuf's wire format (encoding.md): tags, varints, fixed words and
 * length-delimited runs. Reading is a cursor that cannot leave its buffer;
 * writing is into a struct buf, whose error says at the end whether all fitted.
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

struct wire {
	const uint8_t *p, *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;    /* varint, fixed32 or fixed64 */
	struct wire bytes; /* WIRE_LEN: the content */
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
 * The next field of a message: 1; 0 at its end; -EBADMSG when it is cut short
 * or malformed, groups included. Fields the caller does not know are skipped
 * by calling again.
 */
int wire_next(struct wire *w, struct wire_field *out);

/* Signed numbers as varints: those near 0 are short. */
static inline uint64_t wire_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t wire_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* One bare varint: 1, 0 at the end, -EBADMSG. */
int wire_varint(struct wire *w, uint64_t *out);

/*
 * The numbers of one occurrence of a repeated field, packed or not:
 *
 *	struct wire_nums it = wire_nums(&f, WIRE_VARINT);
 *	while ((r = wire_nums_next(&it, &v)) > 0)
 *
 * wire_nums_next() gives 1, 0 at the end, -EBADMSG. wire_nums_max() is an upper
 * bound of how many there are, and never more than the bytes there are.
 */
struct wire_nums {
	struct wire left;
	uint64_t single;
	enum wire_type type;
	enum { WIRE_NUMS_PACKED, WIRE_NUMS_SINGLE, WIRE_NUMS_END, WIRE_NUMS_BAD } state;
};

struct wire_nums wire_nums(const struct wire_field *f, enum wire_type type);
int wire_nums_next(struct wire_nums *it, uint64_t *out);
size_t wire_nums_max(const struct wire_nums *it);

void wire_put_varint(struct buf *b, uint64_t v);
void wire_put_fixed64_raw(struct buf *b, uint64_t v);

/* A field; a number that is 0 is left out, as proto3 does. */
void wire_put_uint(struct buf *b, uint32_t number, uint64_t v);
void wire_put_int(struct buf *b, uint32_t number, int64_t v);
void wire_put_bool(struct buf *b, uint32_t number, bool v);
void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t v);

/* Where 0 is not the same as nothing: members of a oneof. */
void wire_put_uint_always(struct buf *b, uint32_t number, uint64_t v);

/* A length-delimited field; written even when empty. */
void wire_put_bytes(struct buf *b, uint32_t number, const void *data, size_t len);

/* A string field, which must be UTF-8: what is not is replaced. */
void wire_put_text(struct buf *b, uint32_t number, const char *s, size_t len);

/* A nested message or a packed field: what is put in between is its content. */
size_t wire_begin(struct buf *b, uint32_t number);
void wire_end(struct buf *b, size_t begun);
