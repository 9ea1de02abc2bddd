/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading JSON (RFC 8259) from anybody, one token after the other, without a
 * tree in memory. Strings are decoded into a buffer of the reader's, which the
 * next token overwrites.
 *
 *	json_read_expect(&j, '{') ...
 *	while ((r = json_read_key(&j)) > 0)	(the key is j.text)
 *		if (!strcmp(key, "name")) r = json_read_string(&j); else r = json_read_skip(&j);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_READ_MAX_DEPTH = 64 };

struct json_read {
	const char *p, *start, *end;
	bool first; /* nothing was read yet in the innermost object or array */
	struct buf text;
};

void json_read_init(struct json_read *j, const void *data, size_t len);
void json_read_fini(struct json_read *j);

/* What comes next: one of `{ [ " 0 t f n`, 0 for a number of any kind; -EBADMSG at the end. */
int json_read_peek(struct json_read *j);

/* All of these: 0, or -EBADMSG for anything else, -ENOMEM. */
int json_read_open(struct json_read *j, char c); /* '{' or '[' */
int json_read_string(struct json_read *j);       /* NUL-terminated in text, text.len without it */
int json_read_number(struct json_read *j, double *out);
int json_read_skip(struct json_read *j); /* any value */
int json_read_end(struct json_read *j);  /* nothing may follow */

/* Is there one more? 1 and its key in text; 1; 0: the object or array has ended; -EBADMSG. */
int json_read_key(struct json_read *j);
int json_read_item(struct json_read *j);

static inline bool json_read_is(const struct json_read *j, const char *text)
{
	return !__builtin_strcmp((const char *)j->text.data, text);
}

/* Reads one value; of a member, its key is in text. 0 to go on. */
typedef int (*json_read_fn)(struct json_read *j, void *ctx);

/*
 * All members of an object or elements of an array, as @open says; any other value is skipped
 * (null, when there are none). 0; what @fn stopped it with; -EBADMSG; -ENOMEM.
 */
int json_read_each(struct json_read *j, char open, json_read_fn fn, void *ctx);

/* Where it is, in bytes from the start, for messages. */
size_t json_read_at(const struct json_read *j);
