/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of protobuf messages share: where in the file they are,
 * for messages ("sample 17: ..."), and reading the plain parts of a message.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/wire.h"

struct err;

struct reading {
	struct err *err;
	const char *what; /* "sample" 17; NULL: the whole */
	size_t nth;
	const uint8_t *begin; /* of the data; NULL: bytes are not told */
};

/* Varint fields of a message by number; what was not there is 0. */
enum { WIRE_SCALARS = 16 };

struct wire_scalars {
	uint64_t v[WIRE_SCALARS];
};

struct wire_parts {
	VEC(struct wire);
};

#define WIRE_BIT(number)        (1u << (number))
#define WIRE_BITS_UP_TO(number) (WIRE_BIT((number) + 1) - 1)

/* Say what is wrong with what is being read; @code. */
int reading_bad(struct reading *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* The message is malformed or cut short where @w stands: -EBADMSG. */
int reading_malformed(struct reading *at, struct wire w) __attribute__((cold));

/* -ENOMEM */
int reading_no_memory(struct reading *at) __attribute__((cold));

/* Interning fails for want of memory only, as readers check all ids: 0 or -ENOMEM. */
int reading_interned(struct reading *at, int r);

/* The varints among the fields in @mask; the rest is left to others. 0 or -EBADMSG. */
int reading_scalars(struct reading *at, struct wire w, uint32_t mask, struct wire_scalars *out);

/* Keep a message or string for later. 0, -EBADMSG for a number, -ENOMEM. */
int reading_keep(struct reading *at, const struct wire_field *f, struct wire_parts *parts);

/* The next message of @w with this field number, others skipped: 1, 0 at the end, -EBADMSG. */
int reading_next_message(struct reading *at, struct wire *w, uint32_t number, struct wire *out);

/* A line number that fits; what does not is as good as unknown. */
static inline uint32_t reading_line_number(uint64_t v)
{
	return v <= INT32_MAX ? (uint32_t)v : 0;
}
