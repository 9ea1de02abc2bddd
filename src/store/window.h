/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a profile is in one series: rising nodes with a value for each sample type,
 * and the head that stands beside the block, so that totals need no block.
 */
#include <stddef.h>
#include <stdint.h>

#include "store/block.h"

struct buf;
struct intern;
struct intern_keys;
struct profile;
struct profile_meta;
struct store_profile;
struct symbols;

/* One sample, and where it belongs. */
struct window_entry {
	uint32_t series, node, sample;
};

/* By series, then by node. */
void window_sort(struct window_entry *entries, size_t n);

/* Of all samples of a profile: 0; -EINVAL for what can't be a series; -ENOMEM. */
int window_entries(struct window_entry *out, struct intern *in, struct symbols *s,
		   const struct store_profile *p, const struct intern_keys *keys);

struct window_rows {
	uint32_t *nodes;
	int64_t *values; /* n_types a row */
	int64_t totals[BLOCK_MAX_TYPES];
	size_t n, n_types;
};

/* Sorted entries of one series: those of one node are one row. The arrays have room for @n. */
void window_fill(struct window_rows *rows, const struct profile *p, const struct window_entry *e,
		 size_t n);

struct window_head {
	int64_t duration_ns, period, total;
};

void window_put_head(const struct window_rows *rows, const struct profile_meta *meta,
		     struct buf *out);

/* With the total of one type. 0; -EBADMSG. */
int window_read_head(const void *data, size_t len, uint32_t type, struct window_head *out);

enum { WINDOW_KEY_LEN = 16 };

/* What a profile's id is kept as. */
int64_t window_id_hash(const char *id);

/* What a profile with an id is known by: that, its name, its own time and its labels. */
void window_profile_key(const struct store_profile *p, uint8_t *out);
