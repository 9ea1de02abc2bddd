/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

static uint8_t *buf_room(struct buf *b, size_t len)
{
	if (b->error)
		return NULL;
	if (b->max && (b->len > b->max || len > b->max - b->len)) {
		b->error = -EFBIG;
		return NULL;
	}
	if (len > SIZE_MAX / 2 - b->len ||
	    vec_grow((void **)&b->data, &b->cap, b->len + len, 1) < 0) {
		b->error = -ENOMEM;
		return NULL;
	}
	return b->data + b->len;
}

void buf_put(struct buf *b, const void *data, size_t len)
{
	uint8_t *to = len ? buf_room(b, len) : NULL;

	if (!to)
		return;
	memcpy(to, data, len);
	b->len += len;
}

void buf_put_str(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_put_byte(struct buf *b, uint8_t c)
{
	buf_put(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	uint8_t *to;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		buf_put(b, small, (size_t)n);
	} else if (n >= 0) {
		to = buf_room(b, (size_t)n + 1);
		if (to) {
			vsnprintf((char *)to, (size_t)n + 1, fmt, again);
			b->len += (size_t)n;
		}
	}
	va_end(again);
	va_end(ap);
}
