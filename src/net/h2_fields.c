/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_fields.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* HTTP/2 requires field names in lower case (RFC 9113, 8.2). */
void h2_fields_add(struct h2_fields *f, const char *name, const char *value)
{
	char *to = f->names[f->n];
	size_t len = 0;

	for (; len < sizeof(f->names[0]) - 1 && name[len]; len++)
		to[len] = (char)tolower((unsigned char)name[len]);
	f->nv[f->n++] = (nghttp2_nv){ .name = (uint8_t *)to,
				      .value = (uint8_t *)(uintptr_t)value,
				      .namelen = len,
				      .valuelen = strlen(value) };
}
