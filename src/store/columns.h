/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Columns of numbers in stored blobs, as blocks (block.h) and packs (pack.h) have them: a list of
 * columns begins with the length of each in bytes, and all of it is one zstd frame unless it is
 * short. Reading trusts nothing. One thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "codec/common/wire.h"

/* Compression state and buffers, reused. Zero-initialize it. */
struct columns_writer {
	struct ZSTD_CCtx_s *zstd;
	struct buf columns, raw;
	size_t begun; /* of the current column */
};

void columns_writer_fini(struct columns_writer *w);

/*
 * Order of calls: columns_begin(), numbers of the head appended to w->raw, then for each column its
 * values appended to w->columns and columns_end_one(), and columns_write(), which appends the blob
 * to @out and returns 0 or -ENOMEM. Raw data of up to @max_stored bytes is not compressed.
 */
void columns_begin(struct columns_writer *w);
void columns_end_one(struct columns_writer *w);
int columns_write(struct columns_writer *w, size_t max_stored, struct buf *out);

/*
 * Appends the values of column @k of @n rows with @n_types values each: for k > 0 as the factor by
 * which those of the first column are multiplied, if there is one, else all of them.
 */
void columns_put_values(const int64_t *values, size_t n, size_t n_types, size_t k, struct buf *out);

struct columns_reader {
	struct ZSTD_DCtx_s *zstd;
	uint8_t *raw;
	size_t cap;
};

void columns_reader_fini(struct columns_reader *r);

/*
 * Finds the raw data of a blob, which is valid until the next call. Returns 0, -EBADMSG, also for
 * more than 256 MiB, or -ENOMEM.
 */
int columns_read(struct columns_reader *r, const void *data, size_t len, struct wire *out);

/*
 * Splits @w, the data after the head, into its columns. A column is bounded by its own length, so
 * a damaged one cannot shift the ones after it. Returns 0 or -EBADMSG.
 */
int columns_split(struct wire w, size_t n_columns, struct wire *out);

/*
 * Reads the @n values of column @type, whose columns are @columns. Returns 0 or -EBADMSG; factors
 * may not overflow.
 */
int columns_read_values(const struct wire *columns, size_t type, size_t n, int64_t *out);

/* Most numbers take one byte, which is read inline. */
static inline bool columns_next(struct wire *w, uint64_t *out)
{
	if (w->p < w->end && *w->p < 0x80) {
		*out = *w->p++;
		return true;
	}
	return wire_varint(w, out) > 0;
}
