/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writing JSON (RFC 8259) as a stream into a struct buf: commas are put where
 * they belong; that begins and ends match is up to the caller. What comes out
 * is ASCII-safe where it matters: it can stand inside a <script> element, and
 * it is valid UTF-8 whatever the strings were.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct json {
	struct buf *out;
	bool comma; /* the next value needs one before it */
};

static inline struct json json_to(struct buf *out)
{
	return (struct json){ .out = out };
}

void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);

void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s);
void json_strn(struct json *j, const char *s, size_t len);
void json_int(struct json *j, int64_t v);
/* As a string: how proto3 has 64-bit numbers. */
void json_int_text(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_double(struct json *j, double v); /* null when it is not finite */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
