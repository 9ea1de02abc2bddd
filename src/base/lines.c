/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files of the kernel (maps, kallsyms) may have many megabytes, and other users' processes
 * choose part of their content, so they are streamed and a line may have any length.
 */
#include "base/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int lines_init(struct lines *l, int fd)
{
	*l = (struct lines){ .fd = fd, .buf = malloc(LINES_BUF_LEN) };
	return l->buf ? 0 : -ENOMEM;
}

void lines_fini(struct lines *l)
{
	free(l->buf);
	*l = (struct lines){ .fd = -1 };
}

/* Moves the unread bytes to the front and appends more. Returns their number, 0 or -errno. */
static int refill(struct lines *l)
{
	ssize_t n;

	memmove(l->buf, l->buf + l->start, l->len - l->start);
	l->len -= l->start;
	l->start = 0;
	do
		n = read(l->fd, l->buf + l->len, LINES_BUF_LEN - 1 - l->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->len += (size_t)n;
	return (int)n;
}

/* Returns true if the whole buffer is one line without its end. */
static bool is_full(const struct lines *l)
{
	return !l->start && l->len == LINES_BUF_LEN - 1;
}

int lines_next(struct lines *l, char **out, bool *out_truncated)
{
	for (;;) {
		char *line = l->buf + l->start;
		char *end = memchr(line, '\n', l->len - l->start);
		bool skip = l->in_long;
		int n;

		if (end || is_full(l)) {
			l->in_long = !end;
			if (!end)
				end = line + l->len;
			*end = '\0';
			l->start = l->in_long ? 0 : (size_t)(end + 1 - l->buf);
			if (l->in_long)
				l->len = 0;
			if (skip)
				continue;
			*out = line;
			*out_truncated = l->in_long;
			return 1;
		}
		n = refill(l);
		if (n < 0)
			return n;
		if (!n)
			return l->len && !l->in_long ? -EBADMSG : 0;
	}
}

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	return UINT_MAX;
}

const char *lines_number(const char *s, unsigned int base, char end, unsigned long *out)
{
	const char *start = s;
	unsigned long v = 0;

	for (; digit_of(*s) < base; s++) {
		if (v > (ULONG_MAX - digit_of(*s)) / base)
			return NULL;
		v = v * base + digit_of(*s);
	}
	if (s == start || *s != end)
		return NULL;
	*out = v;
	return s + 1;
}
