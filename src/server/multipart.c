/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms have few parts, so each lookup scans the body. All searches end at the body's length:
 * nothing is terminated, and a body without its last boundary is an error, because it may be
 * truncated.
 */
#include "server/multipart.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { BOUNDARY_MAX = 70 }; /* RFC 2046 */

/* Writes "--BOUNDARY", the line before each part, to @out. */
static int read_boundary(const char *type, char *out, size_t size)
{
	const char *at = strcasestr(type, "boundary=");
	size_t n;

	if (strncasecmp(type, "multipart/form-data", 19) != 0 || !at)
		return -EBADMSG;
	at += 9;
	if (*at == '"') {
		at++;
		n = strcspn(at, "\"");
	} else {
		n = strcspn(at, "; \t");
	}
	if (!n || n > BOUNDARY_MAX)
		return -EBADMSG;
	snprintf(out, size, "--%.*s", (int)n, at);
	return 0;
}

/* True if a header of the part has the parameter name="@name". */
static bool has_name(const char *head, size_t len, const char *name)
{
	char pattern[128];
	size_t n = (size_t)snprintf(pattern, sizeof(pattern), " name=\"%s\"", name);
	const char *at;

	if (n >= sizeof(pattern))
		return false;
	at = memmem(head, len, pattern, n);
	return at || ((at = memmem(head, len, pattern + 1, n - 1)) && at > head && at[-1] == ';');
}

/*
 * head_end points to the line break before the empty line, so the search for the next boundary
 * starts two bytes later and also finds one directly after the head, as in an empty part.
 */
int multipart_find(const char *type, const void *body, size_t len, const char *name,
		   struct multipart_part *out)
{
	char boundary[2 + BOUNDARY_MAX + 1], between[2 + sizeof(boundary)];
	const char *p = body, *end = p + len, *stop, *head_end;
	size_t n, n_between;

	if (!len || read_boundary(type, boundary, sizeof(boundary)) < 0)
		return -EBADMSG;
	n = strlen(boundary);
	n_between = (size_t)snprintf(between, sizeof(between), "\r\n%s", boundary);
	p = memmem(p, len, boundary, n);
	if (!p)
		return -EBADMSG;
	p += n;
	while (end - p >= 2 && memcmp(p, "--", 2) != 0) {
		head_end = memmem(p, (size_t)(end - p), "\r\n\r\n", 4);
		if (!head_end)
			return -EBADMSG;
		stop = memmem(head_end + 2, (size_t)(end - head_end) - 2, between, n_between);
		if (!stop)
			return -EBADMSG;
		if (has_name(p, (size_t)(head_end - p), name)) {
			head_end += 4;
			*out = (struct multipart_part){ head_end,
							stop > head_end ? (size_t)(stop - head_end)
									: 0 };
			return 0;
		}
		p = stop + n_between;
	}
	return -ENOENT;
}
