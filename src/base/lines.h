/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lines of a file read through one buffer of fixed size. */
#include <stdbool.h>
#include <stddef.h>

enum { LINES_BUF_LEN = 64 * 1024 };

struct lines {
	int fd;
	bool in_long; /* the rest of a line that was given is still to be skipped */
	char *buf;
	size_t start, len;
};

/* Read from @fd, which stays the caller's. 0 or -ENOMEM. */
int lines_init(struct lines *l, int fd);
void lines_fini(struct lines *l);

/*
 * The next line, NUL-terminated without its newline, valid until the next
 * call. A line that does not fit the buffer is cut to what does, *@out_cut is
 * true and its rest is skipped. 1; 0 at the end; -errno; -EBADMSG when the
 * file ends within a line.
 */
int lines_next(struct lines *l, char **out, bool *out_cut);

/*
 * A number at @s in base 10 or 16 (lower case, no prefix) with @end behind it:
 * what follows that, or NULL if there is no such number or it is too large.
 */
const char *lines_number(const char *s, unsigned int base, char end, unsigned long *out);
