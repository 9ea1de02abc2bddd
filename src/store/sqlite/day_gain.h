/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The gain of the open transaction of a day, as a row of arrivals (arrivals.h), and the keys of
 * the profiles that are in arrivals. For the thread that appends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/sqlite/day_spans.h"
#include "store/window.h"

struct arrivals;
struct store_profile;

struct day_gain_key {
	uint8_t bytes[WINDOW_KEY_LEN];
};

/* A position, to which day_gain_cut() returns. */
struct day_gain_lengths {
	size_t row, keys, windows;
};

/* Zero-initialize it. */
struct day_gain {
	struct buf row;
	struct span_windows windows;
	struct {
		VEC(struct day_gain_key);
	} keys; /* of profiles in arrivals, then of the row */
	struct columns_writer blocks;
};

void day_gain_fini(struct day_gain *g);

/* Adds the keys of profiles that arrived before. Returns 0, -EBADMSG or -ENOMEM. */
int day_gain_load_keys(struct day_gain *g, const struct arrivals *a);

struct day_gain_lengths day_gain_now(const struct day_gain *g);
void day_gain_cut(struct day_gain *g, const struct day_gain_lengths *to);

/* Empties the row after its commit, and frees the memory of a large one. Keys stay. */
void day_gain_clear(struct day_gain *g);

/* Is it the key of a profile in arrivals or in the row? */
bool day_gain_has_key(const struct day_gain *g, const struct day_gain_key *key);

/* Add to the row. Return 0 or -ENOMEM, and then the caller cuts. */
int day_gain_put_key(struct day_gain *g, const struct day_gain_key *key);

/* A window with the samples @e of one series, which were summed into @rows. Changes @rows. */
int day_gain_put_window(struct day_gain *g, const struct store_profile *p,
			const struct window_entry *e, size_t n, struct window_rows *rows);
