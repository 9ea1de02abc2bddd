/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of a block: a STORED byte followed by the raw data, or a single zstd frame of the raw
 * data. The raw data is varint n, varint number of types, the length of each column in bytes as a
 * varint, then the columns.
 *
 * Column 0 holds the differences between consecutive node ids. Every other column begins with a
 * byte: after COLUMN_OWN follow n zigzag varints, after COLUMN_TIMES follows one, the factor by
 * which the values of the first type are multiplied.
 *
 * Small blocks are stored uncompressed: compression hardly shrinks them, and a single query reads
 * thousands.
 *
 * The factor is tried before anything else because it is the normal case: CPU profiles have samples
 * and nanoseconds, and the second column is the first one times the period. A column without that
 * property (bytes and objects of an allocation profile) is stored in full. Differences of node ids
 * are small because nodes are numbered in the order in which stacks are first seen and a profile
 * mostly consists of stacks that were seen together before.
 */
#include "store/block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "codec/common/wire.h"

enum {
	COLUMN_OWN,
	COLUMN_TIMES,
	LEVEL = 3,
	MAX_RAW = 256 << 20,
	STORED = 0, /* a zstd frame begins with another byte */
	MAX_STORED = 4096,
};

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

static void put_values(const int64_t *values, size_t n, size_t n_types, size_t k, struct buf *out)
{
	int64_t factor;

	if (k > 0 && find_factor(values, n, n_types, k, &factor)) {
		buf_put_byte(out, COLUMN_TIMES);
		wire_put_varint(out, wire_zigzag(factor));
		return;
	}
	buf_put_byte(out, COLUMN_OWN);
	for (size_t i = 0; i < n; i++)
		wire_put_varint(out, wire_zigzag(values[i * n_types + k]));
}

void block_writer_fini(struct block_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	buf_fini(&w->columns);
	buf_fini(&w->raw);
	*w = (struct block_writer){ 0 };
}

static int compress(struct block_writer *w, struct buf *out)
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

int block_write(struct block_writer *w, const uint32_t *nodes, const int64_t *values, size_t n,
		size_t n_types, struct buf *out)
{
	struct buf *columns = &w->columns, *raw = &w->raw;
	size_t begun = 0;
	uint32_t last = 0;

	columns->len = raw->len = 0;
	columns->error = raw->error = 0;
	wire_put_varint(raw, n);
	wire_put_varint(raw, n_types);
	for (size_t i = 0; i < n; last = nodes[i++])
		wire_put_varint(columns, nodes[i] - last);
	wire_put_varint(raw, columns->len);
	for (size_t k = 0; k < n_types; k++) {
		begun = columns->len;
		put_values(values, n, n_types, k, columns);
		wire_put_varint(raw, columns->len - begun);
	}
	buf_put(raw, columns->data, columns->len);
	if (buf_error(columns) || buf_error(raw))
		return -ENOMEM;
	if (raw->len > MAX_STORED)
		return compress(w, out);
	buf_put_byte(out, STORED);
	buf_put(out, raw->data, raw->len);
	return buf_error(out);
}

void block_fini(struct block *b)
{
	ZSTD_freeDCtx(b->zstd);
	free(b->raw.data);
	free(b->nodes);
	free(b->values);
	*b = (struct block){ 0 };
}

/*
 * Finds the raw data of a block. The size in a zstd frame's header is checked before memory is
 * allocated.
 */
static int decompress(struct block *b, const void *data, size_t len, struct wire *out)
{
	unsigned long long raw_len;
	size_t r;

	if (len && *(const uint8_t *)data == STORED) {
		*out = wire_of((const uint8_t *)data + 1, len - 1);
		return 0;
	}
	raw_len = ZSTD_getFrameContentSize(data, len);
	if (raw_len > MAX_RAW) /* both error codes are huge numbers */
		return -EBADMSG;
	if (raw_len > b->raw.cap &&
	    vec_grow((void **)&b->raw.data, &b->raw.cap, (size_t)raw_len, 1) < 0)
		return -ENOMEM;
	if (!b->zstd)
		b->zstd = ZSTD_createDCtx();
	if (!b->zstd)
		return -ENOMEM;
	r = ZSTD_decompressDCtx(b->zstd, b->raw.data, b->raw.cap, data, len);
	if (ZSTD_isError(r) || r != raw_len)
		return -EBADMSG;
	*out = wire_of(b->raw.data, r);
	return 0;
}

/*
 * Both arrays grow together; cap is only raised when both have room, so that a failure between the
 * two allocations leaves cap at a size that both have.
 */
static int make_room(struct block *b, size_t n)
{
	size_t cap = b->cap;

	if (n <= b->cap)
		return 0;
	if (vec_grow((void **)&b->nodes, &cap, n, sizeof(*b->nodes)) < 0)
		return -ENOMEM;
	cap = b->cap;
	if (vec_grow((void **)&b->values, &cap, n, sizeof(*b->values)) < 0)
		return -ENOMEM;
	b->cap = cap;
	return 0;
}

/* Most numbers take one byte, which is read inline. */
static inline bool next_number(struct wire *w, uint64_t *out)
{
	if (w->p < w->end && *w->p < 0x80) {
		*out = *w->p++;
		return true;
	}
	return wire_varint(w, out) > 0;
}

static int read_nodes(struct block *b, struct wire column)
{
	uint64_t v, id = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (!next_number(&column, &v) || v > UINT32_MAX - id)
			return -EBADMSG;
		id += v;
		b->nodes[i] = (uint32_t)id;
	}
	return 0;
}

static int read_values(struct block *b, struct wire column)
{
	uint64_t v;

	if (column.p == column.end || *column.p++ != COLUMN_OWN)
		return -EBADMSG;
	for (size_t i = 0; i < b->n; i++) {
		if (!next_number(&column, &v))
			return -EBADMSG;
		b->values[i] = wire_unzigzag(v);
	}
	return 0;
}

/*
 * Multiplies the values of the first sample type, which are in @b already, by the column's factor.
 */
static int apply_factor(struct block *b, struct wire column)
{
	uint64_t v;

	column.p++;
	if (!next_number(&column, &v))
		return -EBADMSG;
	for (size_t i = 0; i < b->n; i++)
		if (__builtin_mul_overflow(b->values[i], wire_unzigzag(v), &b->values[i]))
			return -EBADMSG;
	return 0;
}

/*
 * Splits @w into its columns, whose lengths precede them. A column is bounded by its own length, so
 * a damaged column cannot shift the start of the ones after it.
 */
static int split(struct wire w, size_t n_columns, struct wire *out)
{
	uint64_t lens[BLOCK_MAX_TYPES + 1];

	for (size_t i = 0; i < n_columns; i++)
		if (!next_number(&w, &lens[i]))
			return -EBADMSG;
	for (size_t i = 0; i < n_columns; i++) {
		if (lens[i] > wire_len(w))
			return -EBADMSG;
		out[i] = wire_of(w.p, (size_t)lens[i]);
		w.p += lens[i];
	}
	return 0;
}

int block_read(struct block *b, const void *data, size_t len, size_t type)
{
	struct wire columns[BLOCK_MAX_TYPES + 1], w, *column = &columns[type + 1];
	uint64_t n, n_types;
	int r = decompress(b, data, len, &w);
	size_t raw_len;

	if (r < 0)
		return r;
	raw_len = wire_len(w);
	if (!next_number(&w, &n) || !next_number(&w, &n_types) || n > raw_len ||
	    n_types > BLOCK_MAX_TYPES || type >= n_types)
		return -EBADMSG;
	r = make_room(b, (size_t)n);
	if (r < 0)
		return r;
	b->n = (size_t)n;
	r = split(w, (size_t)n_types + 1, columns);
	if (r == 0)
		r = read_nodes(b, columns[0]);
	if (r < 0)
		return r;
	if (column->p == column->end || *column->p != COLUMN_TIMES)
		return read_values(b, *column);
	r = read_values(b, columns[1]);
	return r < 0 ? r : apply_factor(b, *column);
}
