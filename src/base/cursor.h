/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads untrusted bytes from the beginning to the end, and never beyond it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes that are not yet read. They belong to the caller. */
struct cursor {
	const uint8_t *data;
	size_t len;
};

/* The next @len bytes, which need not be aligned; NULL, without reading any, if there are fewer. */
static inline const void *cursor_take(struct cursor *c, size_t len)
{
	const uint8_t *at = c->data;

	if (len > c->len)
		return NULL;
	c->data += len;
	c->len -= len;
	return at;
}

/* Copies the next @len bytes to @out; false, without copying any, if there are fewer. */
static inline bool cursor_copy(struct cursor *c, void *out, size_t len)
{
	const void *from = cursor_take(c, len);

	if (from && len)
		memcpy(out, from, len);
	return from;
}

/* The next string with its NUL, or NULL, without reading any, if no NUL follows. */
static inline const char *cursor_string(struct cursor *c)
{
	size_t len = c->len ? strnlen((const char *)c->data, c->len) : 0;

	return len < c->len ? cursor_take(c, len + 1) : NULL;
}
