/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A streaming JSON writer (RFC 8259) into a struct buf. It places the commas; the caller pairs
 * begins and ends and writes a key before each member's value. The output is valid UTF-8
 * whatever the strings contain, and can stand inside a <script> element. Memory errors stick to
 * the buffer.
 *
 *	struct json j = json_to(&out);
 *	json_object(&j);
 *	json_member_int(&j, "n", 7);
 *	json_object_end(&j);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct json {
	struct buf *out;
	bool comma; /* the next value needs a comma in front */
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
void json_int_text(struct json *j, int64_t v); /* as a string: proto3's form of 64-bit numbers */
void json_uint(struct json *j, uint64_t v);
void json_double(struct json *j, double v); /* null if it is not finite */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);

/* A key followed by its value. */
static inline void json_member_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

static inline void json_member_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

static inline void json_member_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

static inline void json_member_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array(j);
}

static inline void json_member_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object(j);
}

static inline void json_member_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

static inline void json_member_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

static inline void json_member_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}
