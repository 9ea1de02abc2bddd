/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A pull parser for untrusted JSON (RFC 8259): one token after the other, without a tree in
 * memory. Strings are decoded into a buffer of the reader, which the next token overwrites.
 *
 *	r = json_read_open(&j, '{');
 *	while (r == 0 && (r = json_read_key(&j)) > 0)
 *		r = json_read_is(&j, "name") ? json_read_string(&j) : json_read_skip(&j);
 *
 * This is not jansson because profiles are large: a Chrome trace of 50 MB is skipped in 0.22 s
 * with 1 MiB, and becomes a struct profile in 1.0 s with 84 MiB; jansson 2.14 needs 1.25 s and
 * 532 MiB just for its tree.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { JSON_READ_MAX_DEPTH = 64 }; /* of values that are skipped */

struct json_read {
	const char *p, *start, *end; /* borrowed from the caller */
	bool first;                  /* no element of the innermost object or array was read yet */
	struct buf text;             /* the last key or string */
};

void json_read_init(struct json_read *j, const void *data, size_t len);
void json_read_fini(struct json_read *j);

/*
 * The kind of the next value by its first character, one of `{ [ " t f n`, or 0 for any number;
 * -EBADMSG at the end or if no value follows. Consumes white space only.
 */
int json_read_peek(struct json_read *j);

/* Consume one token or value. Return 0, -EBADMSG if something else follows, -ENOMEM. */
int json_read_open(struct json_read *j, char c); /* '{' or '[' */
int json_read_string(struct json_read *j);       /* into text, NUL-terminated beyond its length */
int json_read_number(struct json_read *j, double *out);
int json_read_skip(struct json_read *j); /* any value */
int json_read_end(struct json_read *j);  /* the end of the data */

/*
 * Advance to the next member, whose key is then in text, or to the next element. Return 1; 0 at
 * the end of the object or array, which is consumed; -EBADMSG; -ENOMEM.
 */
int json_read_key(struct json_read *j);
int json_read_item(struct json_read *j);

/* Returns true if the last key or string is @text. */
static inline bool json_read_is(const struct json_read *j, const char *text)
{
	return !__builtin_strcmp((const char *)j->text.data, text);
}

/* Consumes one value; the key of a member is in text. Returns 0 to continue. */
typedef int (*json_read_fn)(struct json_read *j, void *ctx);

/*
 * Calls @fn for each member of an object or each element of an array, whichever @open says; a
 * value of another kind is skipped, so null stands for an empty list. Returns 0; the first
 * result of @fn that is not 0; -EBADMSG; -ENOMEM.
 */
int json_read_each(struct json_read *j, char open, json_read_fn fn, void *ctx);

/* The position in bytes from the start, for messages. */
size_t json_read_at(const struct json_read *j);
