/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The header or trailer fields of a response, as nghttp2 takes them. Internal to net. A value. */
#include <stddef.h>

#include <nghttp2/nghttp2.h>

#include "net/http.h"

enum { H2_MAX_FIELDS = HTTP_MAX_HEADERS + 3, H2_MAX_FIELD_NAME = 48 };

struct h2_fields {
	nghttp2_nv nv[H2_MAX_FIELDS];
	char names[H2_MAX_FIELDS][H2_MAX_FIELD_NAME];
	size_t n;
};

/* Adds a field, of at most H2_MAX_FIELDS. The name is copied, in lower case; @value is borrowed. */
void h2_fields_add(struct h2_fields *f, const char *name, const char *value);
