/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growing byte buffer to write into. The first failure to grow sticks:
 * later calls do nothing, and the writer asks once, at its end, with
 * buf_error(). So writers need no check a byte.
 */
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	int error; /* 0 or -ENOMEM */
};

void buf_fini(struct buf *b);
void buf_put(struct buf *b, const void *data, size_t len);
void buf_put_str(struct buf *b, const char *s);
void buf_put_byte(struct buf *b, uint8_t c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline int buf_error(const struct buf *b)
{
	return b->error;
}
