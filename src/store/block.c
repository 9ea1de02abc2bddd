/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw data of a block (columns.h) is varint n, varint number of types, the length of each
 * column in bytes as a varint, then the columns: first the differences between consecutive node
 * ids, then the values of each type.
 *
 * Blocks of windows are stored uncompressed unless they are large: compression hardly shrinks them,
 * and a single query reads thousands. Sums of two hours have ten times the rows and shrink by 40 %.
 * Differences of node ids are small because nodes are numbered in the order in which stacks are
 * first seen and a profile mostly consists of stacks that were seen together before.
 */
#include "store/block.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Bytes up to which blocks of windows and sums are not compressed. */
enum { MAX_STORED = 4096, MAX_STORED_SUM = 512 };

static void put_columns(struct columns_writer *w, const uint32_t *nodes, const int64_t *values,
			size_t n, size_t n_types)
{
	uint32_t last = 0;

	columns_begin(w);
	wire_put_varint(&w->raw, n);
	wire_put_varint(&w->raw, n_types);
	for (size_t i = 0; i < n; last = nodes[i++])
		wire_put_varint(&w->columns, nodes[i] - last);
	columns_end_one(w);
	for (size_t k = 0; k < n_types; k++) {
		columns_put_values(values, n, n_types, k, &w->columns);
		columns_end_one(w);
	}
}

int block_write(struct columns_writer *w, const uint32_t *nodes, const int64_t *values, size_t n,
		size_t n_types, struct buf *out)
{
	put_columns(w, nodes, values, n, n_types);
	return columns_write(w, MAX_STORED, out);
}

int block_write_sum(struct columns_writer *w, const uint32_t *nodes, const int64_t *values,
		    size_t n, size_t n_types, struct buf *out)
{
	put_columns(w, nodes, values, n, n_types);
	return columns_write(w, MAX_STORED_SUM, out);
}

void block_fini(struct block *b)
{
	columns_reader_fini(&b->reader);
	free(b->nodes);
	free(b->values);
	*b = (struct block){ 0 };
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

static int read_nodes(struct block *b, struct wire column)
{
	uint64_t v, id = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (!columns_next(&column, &v) || v > UINT32_MAX - id)
			return -EBADMSG;
		id += v;
		b->nodes[i] = (uint32_t)id;
	}
	return 0;
}

int block_read(struct block *b, const void *data, size_t len, size_t type)
{
	struct wire columns[BLOCK_MAX_TYPES + 1], w;
	uint64_t n, n_types;
	int r = columns_read(&b->reader, data, len, &w);
	size_t raw_len;

	if (r < 0)
		return r;
	raw_len = wire_len(w);
	if (!columns_next(&w, &n) || !columns_next(&w, &n_types) || n > raw_len ||
	    n_types > BLOCK_MAX_TYPES || type >= n_types)
		return -EBADMSG;
	r = make_room(b, (size_t)n);
	if (r < 0)
		return r;
	b->n = (size_t)n;
	r = columns_split(w, (size_t)n_types + 1, columns);
	if (r == 0)
		r = read_nodes(b, columns[0]);
	return r < 0 ? r : columns_read_values(columns + 1, type, b->n, b->values);
}
