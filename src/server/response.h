/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes response messages as protobuf or proto3 JSON with the same calls. Errors of memory stick
 * to the buffer, which the caller checks once. @number is the field number in protobuf and is
 * ignored in JSON; @name is the member's name in JSON and is ignored in protobuf.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "codec/common/wire.h"

/* The encoding of one response. The buffer is borrowed and not cleared. */
struct response {
	bool is_json;
	struct buf *out;
	struct json json;
};

static inline struct response response_to(struct buf *out, bool is_json)
{
	return (struct response){ is_json, out, json_to(out) };
}

/*
 * A field with its default value is omitted, and bytes of a string that are not UTF-8 are replaced
 * by U+FFFD, as proto3 requires: decoders refuse a whole message for one such string, and stores
 * may hold some of older versions.
 */
void response_put_string(struct response *resp, uint32_t number, const char *name, const char *s);

/* @number is the field's number in protobuf, @name its name in JSON. */
void response_put_int(struct response *resp, uint32_t number, const char *name, int64_t v);
void response_put_bool(struct response *resp, uint32_t number, const char *name, bool v);
void response_put_double(struct response *resp, uint32_t number, const char *name, double v);

/* Bytes are base64 in JSON, as proto3 requires. */
void response_put_bytes(struct response *resp, uint32_t number, const char *name, const void *data,
			size_t len);

/*
 * A nested message or an element of a list. @name is NULL for an element and for the whole message.
 * Pass the result to response_end(). Pairs must nest. In protobuf a nested message is moved when it
 * is longer than 127 bytes (wire_end()).
 */
size_t response_begin(struct response *resp, uint32_t number, const char *name);
void response_end(struct response *resp, size_t mark);

/* A list: elements come between begin and end, strings by response_put_item(). Omit empty lists. */
void response_begin_list(struct response *resp, const char *name);
void response_put_item(struct response *resp, uint32_t number, const char *s);
void response_end_list(struct response *resp);

/*
 * A packed list of numbers, all of one kind: int64, int32 and double have an encoding of their own.
 * Pass the result of response_begin_numbers() to response_end_numbers().
 */
size_t response_begin_numbers(struct response *resp, uint32_t number, const char *name);
void response_put_number(struct response *resp, int64_t v);
void response_put_number_int32(struct response *resp, int32_t v);
void response_put_number_double(struct response *resp, double v);
void response_end_numbers(struct response *resp, size_t mark);
