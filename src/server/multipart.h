/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds parts of a multipart/form-data body (RFC 7578) by name. Parts are borrowed from the body.
 * The body is complete and in memory. Neither encodings of parts (RFC 7578, 4.7) nor nested
 * multiparts are supported; no client sends them.
 */
#include <stddef.h>

struct multipart_part {
	const void *data;
	size_t len;
};

/*
 * Finds the part @name of a body with Content-Type @type. Returns 0, -ENOENT if there is no such
 * part, or -EBADMSG if the body is malformed. @type may be any Content-Type; another one than
 * multipart/form-data is -EBADMSG. The first part of that name is returned. @name must not contain
 * quotes.
 */
int multipart_find(const char *type, const void *body, size_t len, const char *name,
		   struct multipart_part *out);
