/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of a blob: a STORED byte followed by the raw data, or a single zstd frame of the raw data.
 * A column of values begins with a byte: after VALUES_OWN follow n zigzag varints, after
 * VALUES_TIMES follows one, the factor.
 *
 * The factor is tried before anything else because it is the normal case: CPU profiles have samples
 * and nanoseconds, and the second column is the first one times the period. A column without that
 * property (bytes and objects of an allocation profile) is stored in full.
 */
#include "store/columns.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum {
	VALUES_OWN,
	VALUES_TIMES,
	LEVEL = 3,
	MAX_RAW = 256 << 20,
	STORED = 0, /* a zstd frame begins with another byte */
};

void columns_writer_fini(struct columns_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	buf_fini(&w->columns);
	buf_fini(&w->raw);
	*w = (struct columns_writer){ 0 };
}

void columns_begin(struct columns_writer *w)
{
	w->columns.len = w->raw.len = w->begun = 0;
	w->columns.error = w->raw.error = 0;
}

void columns_end_one(struct columns_writer *w)
{
	wire_put_varint(&w->raw, w->columns.len - w->begun);
	w->begun = w->columns.len;
}

static int compress(struct columns_writer *w, struct buf *out)
{
	const struct buf *raw = &w->raw;
	size_t bound = ZSTD_compressBound(raw->len), len;
	_cleanup_(freep) void *to = malloc(bound);

	if (!w->zstd)
		w->zstd = ZSTD_createCCtx();
	if (!to || !w->zstd)
		return -ENOMEM;
	len = ZSTD_compressCCtx(w->zstd, to, bound, raw->data, raw->len, LEVEL);
	if (ZSTD_isError(len))
		return -ENOMEM;
	buf_put(out, to, len);
	return buf_error(out);
}

int columns_write(struct columns_writer *w, size_t max_stored, struct buf *out)
{
	struct buf *raw = &w->raw;

	buf_put(raw, w->columns.data, w->columns.len);
	if (buf_error(&w->columns) || buf_error(raw))
		return -ENOMEM;
	if (raw->len > max_stored)
		return compress(w, out);
	buf_put_byte(out, STORED);
	buf_put(out, raw->data, raw->len);
	return buf_error(out);
}

/*
 * Finds the factor by which all values of column 0 give those of column @k; false if there is none.
 * The factor is computed from the first nonzero value and checked against all others. -1 is
 * excluded as a divisor because INT64_MIN / -1 traps.
 */
static bool find_factor(const int64_t *values, size_t n, size_t n_types, size_t k, int64_t *out)
{
	int64_t factor = 0, product;
	size_t i = 0;

	while (i < n && !values[i * n_types])
		i++;
	if (i < n)
		factor = values[i * n_types] == -1 ? 0
						   : values[i * n_types + k] / values[i * n_types];
	for (i = 0; i < n; i++)
		if (__builtin_mul_overflow(values[i * n_types], factor, &product) ||
		    product != values[i * n_types + k])
			return false;
	*out = factor;
	return true;
}

void columns_put_values(const int64_t *values, size_t n, size_t n_types, size_t k, struct buf *out)
{
	int64_t factor;

	if (k > 0 && find_factor(values, n, n_types, k, &factor)) {
		buf_put_byte(out, VALUES_TIMES);
		wire_put_varint(out, wire_zigzag(factor));
		return;
	}
	buf_put_byte(out, VALUES_OWN);
	for (size_t i = 0; i < n; i++)
		wire_put_varint(out, wire_zigzag(values[i * n_types + k]));
}

void columns_reader_fini(struct columns_reader *r)
{
	ZSTD_freeDCtx(r->zstd);
	free(r->raw);
	*r = (struct columns_reader){ 0 };
}

/* The size in a zstd frame's header is checked before memory is allocated. */
int columns_read(struct columns_reader *r, const void *data, size_t len, struct wire *out)
{
	unsigned long long raw_len;
	size_t n;

	if (len && *(const uint8_t *)data == STORED) {
		*out = wire_of((const uint8_t *)data + 1, len - 1);
		return 0;
	}
	raw_len = ZSTD_getFrameContentSize(data, len);
	if (raw_len > MAX_RAW) /* both error codes are huge numbers */
		return -EBADMSG;
	if (raw_len > r->cap && vec_grow((void **)&r->raw, &r->cap, (size_t)raw_len, 1) < 0)
		return -ENOMEM;
	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(r->zstd, r->raw, r->cap, data, len);
	if (ZSTD_isError(n) || n != raw_len)
		return -EBADMSG;
	*out = wire_of(r->raw, n);
	return 0;
}

int columns_split(struct wire w, size_t n_columns, struct wire *out)
{
	struct wire lens = w;
	uint64_t len;

	for (size_t i = 0; i < n_columns; i++)
		if (!columns_next(&w, &len))
			return -EBADMSG;
	for (size_t i = 0; i < n_columns; i++) {
		if (!columns_next(&lens, &len) || len > wire_len(w))
			return -EBADMSG;
		out[i] = wire_of(w.p, (size_t)len);
		w.p += len;
	}
	return 0;
}

static int read_own(struct wire column, size_t n, int64_t *out)
{
	uint64_t v;

	if (column.p == column.end || *column.p++ != VALUES_OWN)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (!columns_next(&column, &v))
			return -EBADMSG;
		out[i] = wire_unzigzag(v);
	}
	return 0;
}

/* Multiplies the values of the first column, which are in @io already. */
static int apply_factor(struct wire column, size_t n, int64_t *io)
{
	uint64_t v;

	column.p++;
	if (!columns_next(&column, &v))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(io[i], wire_unzigzag(v), &io[i]))
			return -EBADMSG;
	return 0;
}

int columns_read_values(const struct wire *columns, size_t type, size_t n, int64_t *out)
{
	const struct wire *column = &columns[type];
	int r;

	if (column->p == column->end || *column->p != VALUES_TIMES)
		return read_own(*column, n, out);
	r = read_own(columns[0], n, out);
	return r < 0 ? r : apply_factor(*column, n, out);
}
