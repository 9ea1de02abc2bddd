/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Many windows of one series in two blobs, column by column: heads, which have what a time line and
 * a query by id need, and rows, which have node numbers and values. A window takes a third of the
 * bytes of a block of its own, because most of its stacks are in the windows next to it. Reading
 * trusts nothing. One thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/columns.h"

enum {
	PACK_MAX_WINDOWS = 4096,
	PACK_MAX_ROWS = 1 << 20,
};

struct pack_window {
	int64_t time_ns; /* ascending; windows of equal times in order of their blocks */
	int64_t block;   /* the number by which other tables refer to the window */
	int64_t duration_ns, period;
	int64_t id; /* window_id_hash() */
	bool has_id;
	size_t end; /* of its rows, which begin where those of the window before end */
};

struct pack {
	size_t n_types;
	struct {
		VEC(struct pack_window);
	} windows;
	struct {
		VEC(int64_t);
	} totals; /* n_types per window */
	/* the rows of all windows; nodes ascend in each */
	struct {
		VEC(uint32_t);
	} nodes;
	struct {
		VEC(int64_t);
	} values; /* n_types per row; one after pack_read_rows() */
};

void pack_fini(struct pack *p);
void pack_clear(struct pack *p);

/* Appends window @i of @from, which has all types. Returns 0 or -ENOMEM. */
int pack_append(struct pack *to, const struct pack *from, size_t i);

static inline size_t pack_begin(const struct pack *p, size_t window)
{
	return window ? p->windows.data[window - 1].end : 0;
}

/* Buffers of a writer. Zero-initialize it. */
struct pack_writer {
	struct columns_writer columns;
	struct {
		VEC(uint64_t);
	} order, other; /* node and number of each row, sorted */
};

void pack_writer_fini(struct pack_writer *w);

/* Append the blobs of a pack with at most PACK_MAX_ROWS rows. Return 0 or -ENOMEM. */
int pack_write_heads(struct pack_writer *w, const struct pack *p, struct buf *out);
int pack_write_rows(struct pack_writer *w, const struct pack *p, struct buf *out);

/*
 * Sums the rows by node, those of earlier windows first. @out_nodes and @out_values have room for
 * all rows. Returns the number of nodes. Called after pack_write_rows() of the same pack.
 */
size_t pack_sum(const struct pack_writer *w, const struct pack *p, uint32_t *out_nodes,
		int64_t *out_values);

/* Buffers of a reader. Zero-initialize it. */
struct pack_reader {
	struct columns_reader columns;
	struct {
		VEC(uint32_t);
	} at; /* the window of each row, then the place of the next row of each window */
	struct {
		VEC(int64_t);
	} values;
};

void pack_reader_fini(struct pack_reader *rd);

/* The memory of both, in bytes. */
size_t pack_bytes(const struct pack *p, const struct pack_reader *rd);

/*
 * Replace the windows and totals, or the rows of the windows, which have been read, with the values
 * of one sample type. Return 0, -EBADMSG or -ENOMEM; then @p has no defined content.
 */
int pack_read_heads(struct pack_reader *rd, struct pack *p, const void *data, size_t len);
int pack_read_rows(struct pack_reader *rd, struct pack *p, const void *data, size_t len,
		   size_t type);
