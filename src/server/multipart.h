/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of a multipart/form-data body by name (RFC 7578), borrowed from it. */
#include <stddef.h>

struct multipart_part {
	const void *data;
	size_t len;
};

/*
 * The part @name of the body, whose Content-Type is @type. 0; -ENOENT when there is
 * none; -EBADMSG when it is no such body.
 */
int multipart_find(const char *type, const void *body, size_t len, const char *name,
		   struct multipart_part *out);
