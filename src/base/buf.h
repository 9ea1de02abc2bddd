/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growing byte buffer for writers. The first error sticks: later calls do nothing, and the writer
 * checks buf_error() once, at its end, instead of after each call. Names that programs and clients
 * have chosen may be written many times, so the buffer of an output has a limit.
 *
 * A zeroed struct is an empty buffer. @data is not NUL-terminated.
 */
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len; /* bytes */
	size_t cap;
	size_t max; /* bytes; an append beyond it fails with -EFBIG; 0: no limit */
	int error;  /* 0, -EFBIG or -ENOMEM */
};

/* Frees the data; the buffer is empty and usable again. */
void buf_fini(struct buf *b);

/* Forgets contents and error; the limit stays. */
void buf_clear(struct buf *b);

/* Append; buf_put_str() without the terminating NUL. */
void buf_put(struct buf *b, const void *data, size_t len);
void buf_put_str(struct buf *b, const char *s);
void buf_put_byte(struct buf *b, uint8_t c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline int buf_error(const struct buf *b)
{
	return b->error;
}
