/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A window is the part of one profile that belongs to one series: ascending nodes with a value for
 * each sample type. Its head is stored next to its block, so that totals can be read without the
 * block. Functions work on memory of their callers; nothing here is shared between threads.
 */
#include <stddef.h>
#include <stdint.h>

#include "store/block.h"

struct intern;
struct intern_keys;
struct profile;
struct profile_meta;
struct store_profile;
struct stack_dict;

/* One sample and the series and node to which it belongs. */
struct window_entry {
	uint32_t series, node, sample;
};

/*
 * Sorts by series, then by node. The order of equal entries is not defined, which is harmless
 * because they are summed.
 */
void window_sort(struct window_entry *entries, size_t n);

/*
 * Fills @out, which has room for one entry per sample, and interns all stacks and series. Returns
 * 0, -EINVAL if there are too many labels or sample types, or -ENOMEM. The caller holds the
 * lock under which @s may change. After an error the dictionary may have gained entries that
 * nothing refers to.
 */
int window_entries(struct window_entry *out, struct intern *in, struct stack_dict *s,
		   const struct store_profile *p, const struct intern_keys *keys);

struct window_rows {
	uint32_t *nodes;
	int64_t *values; /* n_types per row */
	int64_t totals[BLOCK_MAX_TYPES];
	size_t n, n_types;
};

/*
 * Sums @n sorted entries of one series; those of one node become one row. The caller has set
 * n_types and allocated room for @n rows. Rows whose values are all zero are omitted. Sums
 * saturate.
 */
void window_fill(struct window_rows *rows, const struct profile *p, const struct window_entry *e,
		 size_t n);

struct window_head {
	int64_t duration_ns, period, total;
};

/* Appends duration, period and totals to @out. */
void window_put_head(const struct window_rows *rows, const struct profile_meta *meta,
		     struct buf *out);

/* Reads the head; @out->total is that of sample type @type. Returns 0 or -EBADMSG. */
int window_read_head(const void *data, size_t len, uint32_t type, struct window_head *out);

/*
 * An id (window_id_hash()) follows a head of @n_types totals, or nothing. window_read_id() returns
 * 1 with the id, 0, or -EBADMSG.
 */
void window_put_id(int64_t id, struct buf *out);
int window_read_id(const void *data, size_t len, size_t n_types, int64_t *out);

enum { WINDOW_KEY_LEN = 16 };

/*
 * The hash under which a profile's id is stored. Two ids may have the same hash; a query by id then
 * returns both profiles.
 */
int64_t window_id_hash(const char *id);

/*
 * Writes the WINDOW_KEY_LEN bytes that identify a profile with an id: a hash of id, name, the
 * profile's own time and its labels. The value is stored and compared across versions, so neither
 * the hash nor the order of fields may change. Its 128 bits are not seeded: a client could only
 * construct collisions with its own profiles.
 */
void window_profile_key(const struct store_profile *p, uint8_t *out);

/*
 * The same, but the second of the profile's own time is in front of a part of the hash, so that
 * keys of equal times are next to each other. @key is from window_profile_key(); @out has as many
 * bytes.
 */
void window_profile_time_key(const struct store_profile *p, const uint8_t *key, uint8_t *out);

/* The first bytes of keys with times from @time_ns on, in hexadecimal. */
enum { WINDOW_TIME_HEX_LEN = 9 };
void window_time_hex(int64_t time_ns, char out[WINDOW_TIME_HEX_LEN]);

enum { WINDOW_CONTENT_ID_LEN = 33 };

/*
 * Writes an id made from the content of @p, for profiles that were pushed without one. Profiles
 * that were decoded from the same bytes have the same.
 */
void window_content_id(const struct profile *p, char out[WINDOW_CONTENT_ID_LEN]);
