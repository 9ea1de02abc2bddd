/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte 0, or else one zstd frame, of: varint n, varint number of types, for each column its
 * length in bytes, then the columns. Column 0 has the differences of the ids;
 * the others begin with a byte: OWN, and n zigzag varints follow, or TIMES, and
 * one follows: the factor of the first type's values.
 *
 * Small blocks are stored as they are: they are hardly smaller compressed, and
 * a question reads thousands of them.
 */
#include "store/block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "codec/wire.h"

enum {
	COLUMN_OWN,
	COLUMN_TIMES,
	LEVEL = 3,
	MAX_RAW = 256 << 20,
	STORED = 0, /* zstd's frames begin otherwise */
	MAX_STORED = 4096,
};

/* Is column @k of the rows a multiple of column 0? */
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

static int decompress(struct block *b, const void *data, size_t len, struct wire *out)
{
	unsigned long long raw_len;
	size_t r;

	if (len && *(const uint8_t *)data == STORED) {
		*out = wire_of((const uint8_t *)data + 1, len - 1);
		return 0;
	}
	raw_len = ZSTD_getFrameContentSize(data, len);
	if (raw_len > MAX_RAW) /* both of its errors are huge */
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

/* Most are one byte; the general reader takes the others. */
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

static int multiply(struct block *b, struct wire column)
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

/* The columns' lengths stand before them: cut @w into them. */
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
	struct wire columns[BLOCK_MAX_TYPES + 1], w, *asked = &columns[type + 1];
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
	if (asked->p == asked->end || *asked->p != COLUMN_TIMES)
		return read_values(b, *asked);
	r = read_values(b, columns[1]);
	return r < 0 ? r : multiply(b, *asked);
}
