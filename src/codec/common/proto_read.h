/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Helpers for readers of untrusted protobuf messages (pprof, OTLP): the position in the file for
 * errors ("sample 17: ..."), scalar fields and nested messages. Functions return 0 or a negative
 * errno, with the reason in the reader's err. Counting entries of each table from 0 makes an error
 * findable with `protoc --decode_raw`. A field of an unexpected number is ignored, as protobuf
 * requires of readers; one with an unexpected type is an error.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/common/wire.h"

struct err;

struct proto_read {
	struct err *err;
	const char *what;     /* kind of the entry being read, "sample"; NULL: the top level */
	size_t nth;           /* its index in its table */
	const uint8_t *begin; /* start of the data, for byte offsets in errors; NULL: omit them */
};

/* Scalar fields of a message, by field number; 0 if absent, as in proto3. */
enum { PROTO_SCALARS = 16 };

struct proto_scalars {
	uint64_t v[PROTO_SCALARS];
};

/* Contents of the occurrences of a repeated field. */
struct proto_parts {
	VEC(struct wire);
};

/* Sets of field numbers. */
#define PROTO_BIT(number)        (1u << (number))
#define PROTO_BITS_UP_TO(number) (PROTO_BIT((number) + 1) - 1)

/* Records what is wrong with the current entry. Returns @code. */
int proto_read_error(struct proto_read *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Records that the message is malformed or truncated at @w. Returns -EBADMSG. */
int proto_read_malformed(struct proto_read *at, struct wire w) __attribute__((cold));

/* Records that memory ran out. Returns -ENOMEM. */
int proto_read_no_memory(struct proto_read *at) __attribute__((cold));

/* Turns the result of interning, which fails only without memory, into a recorded error. */
int proto_read_check(struct proto_read *at, int r);

/* Reads the scalar fields in @mask and ignores all others. Returns 0 or -EBADMSG. */
int proto_read_scalars(struct proto_read *at, struct wire w, uint32_t mask,
		       struct proto_scalars *out);

/*
 * Appends the content of a length-delimited field. Returns 0, -EBADMSG for a number, -ENOMEM. The
 * part is borrowed from the message.
 */
int proto_read_collect(struct proto_read *at, const struct wire_field *f,
		       struct proto_parts *parts);

/* Advances to the next message with this field number. Returns 1, 0 at the end, or -EBADMSG. */
int proto_read_next(struct proto_read *at, struct wire *w, uint32_t number, struct wire *out);

/* A line number; 0, for unknown, if it does not fit. */
static inline uint32_t proto_line_number(uint64_t v)
{
	return v <= INT32_MAX ? (uint32_t)v : 0;
}
