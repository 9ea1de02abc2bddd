/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The counts of one window as bytes: rising node ids and, for each sample type,
 * a value each. A type whose values are a multiple of the first's (nanoseconds
 * of samples) costs three bytes. What is read is checked: disks err.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { BLOCK_MAX_TYPES = 16 };

/* What compressing needs, kept from block to block. */
struct block_writer {
	struct ZSTD_CCtx_s *zstd;
	struct buf columns, raw;
};

void block_writer_fini(struct block_writer *w);

/*
 * Append the block of @n rising node ids with @n_types values each, row by row.
 * 0, -ENOMEM.
 */
int block_write(struct block_writer *w, const uint32_t *nodes, const int64_t *values, size_t n,
		size_t n_types, struct buf *out);

/* A block to read from, reused so that it allocates only when it must grow. */
struct block {
	struct ZSTD_DCtx_s *zstd;
	struct {
		uint8_t *data;
		size_t cap;
	} raw;
	uint32_t *nodes;
	int64_t *values;
	size_t n, cap;
};

void block_fini(struct block *b);

/* Read the ids and the values of one type. 0; -EBADMSG; -ENOMEM. */
int block_read(struct block *b, const void *data, size_t len, size_t type);
