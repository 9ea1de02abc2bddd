/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a file line by line through one buffer of fixed size. */
#include <stdbool.h>
#include <stddef.h>

enum { LINES_BUF_LEN = 64 * 1024 };

struct lines {
	int fd;
	bool in_long; /* the remainder of a truncated line is still to be skipped */
	char *buf;
	size_t start, len; /* the unread part of @buf is [start, len) */
};

/* Reads from @fd, which remains the caller's to close. Returns 0 or -ENOMEM. */
int lines_init(struct lines *l, int fd);
void lines_fini(struct lines *l);

/*
 * Yields the next line, NUL-terminated without its newline and valid until the next call. A line
 * longer than the buffer is truncated to it, with *@out_truncated set. Returns 1; 0 at the end;
 * -EBADMSG if the file ends within a line; -errno.
 */
int lines_next(struct lines *l, char **out, bool *out_truncated);

/*
 * Parses a number in base 10 or 16 (lower case, no prefix) that the character @end follows.
 * Returns the position after @end, or NULL if the text is different or the number overflows.
 */
const char *lines_number(const char *s, unsigned int base, char end, unsigned long *out);
