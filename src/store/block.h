/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes the values of one window: ascending node ids and, for each sample type, one value per
 * node. A type whose values are a constant multiple of the first type's (nanoseconds of samples)
 * costs three bytes. Reading validates everything, because disks can corrupt data. A block carries
 * neither a checksum nor a version: SQLite's file format and its application id (sqlite/db.c) cover
 * both, and a damaged block only fails the queries that read it, with -EBADMSG.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/columns.h"

/*
 * The number of sample types in one profile is bounded, so that readers can hold the columns'
 * bounds on the stack. Go's heap profile has four.
 */
enum { BLOCK_MAX_TYPES = 16 };

/*
 * Appends to @out the block of @n ascending node ids. @values has @n rows of @n_types values each.
 * Returns 0 or -ENOMEM. @n_types is at most BLOCK_MAX_TYPES. After an error the contents of @out
 * are undefined, but the writer can be used again.
 */
int block_write(struct columns_writer *w, const uint32_t *nodes, const int64_t *values, size_t n,
		size_t n_types, struct buf *out);

/* Appends the block of the sum of many windows likewise, compressed unless it is short. */
int block_write_sum(struct columns_writer *w, const uint32_t *nodes, const int64_t *values,
		    size_t n, size_t n_types, struct buf *out);

/*
 * Buffers for reading, reused so that memory is allocated only when a block is larger than all
 * before. Zero-initialize it. nodes and values have n elements and are valid until the next
 * block_read(); nodes ascend, which lets callers check the last one against their own tables
 * instead of each. One thread at a time.
 */
struct block {
	struct columns_reader reader;
	uint32_t *nodes;
	int64_t *values;
	size_t n, cap;
};

void block_fini(struct block *b);

/*
 * Reads the node ids and the values of one sample type into @b, replacing what it held. Returns 0,
 * -EBADMSG if the data is malformed or has no such type, or -ENOMEM. @data comes from disk and is
 * not trusted: counts are checked against the length of the data before memory is allocated, a
 * frame that claims to decompress to more than 256 MiB is refused, and products of factors may not
 * overflow. Duplicate node ids pass, which only means that they are added twice. After an error the
 * contents of @b are undefined, but it can be reused or freed.
 */
int block_read(struct block *b, const void *data, size_t len, size_t type);
