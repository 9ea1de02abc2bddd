/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums of a series over ten minutes and over two hours, beside the windows that
 * they are sums of: a question takes the sums that lie within its range, and windows
 * for the rest, so its answer is the same. A sum goes as soon as a window is
 * added in its time.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"

struct err;
struct reader;
struct sqlite3;
struct sqlite3_stmt;

enum { SUMS_N_LEVELS = 2 };

/* What a sum of this level covers, from a multiple of it. */
static inline int64_t sums_step_ns(int level)
{
	static const int64_t steps[SUMS_N_LEVELS] = { 600 * 1000000000LL, 7200 * 1000000000LL };

	return steps[level];
}

static inline int64_t sums_start(int64_t time_ns, int level)
{
	return time_ns - time_ns % sums_step_ns(level);
}

/* A time of a series, and the windows that are in it. */
struct sums_slot {
	uint32_t series;
	int level;
	int64_t start, n_windows, last_block;
};

struct sums_slots {
	VEC(struct sums_slot);
};

void sums_slots_fini(struct sums_slots *s);

/*
 * Slots that ended before @before_ns, have several windows, none after block
 * @max_block, and no sum yet; at most @limit. 0; -errno.
 */
int sums_find(struct sqlite3 *db, int64_t before_ns, int64_t max_block, size_t limit,
	      struct sums_slots *out, struct err *err);

/* What building needs, kept from slot to slot. */
struct sums_builder {
	struct block block;
	struct block_writer writer;
	int64_t *values; /* n_types a node; zero between slots */
	uint32_t n_nodes, n_types;
	struct {
		VEC(uint32_t);
	} touched;
	struct buf head, data; /* the sum that was built */
};

void sums_builder_fini(struct sums_builder *b);
int sums_build(struct sums_builder *b, struct reader *rd, const struct sums_slot *slot,
	       uint32_t n_types, uint32_t n_nodes, struct err *err);

/* Of a sum: its windows, what they last together, the period of the first. */
struct sums_head {
	int64_t n_windows, duration_ns, period;
};

int sums_read_head(const void *data, size_t len, struct sums_head *out);

/*
 * A range cut into sums, @sum for each with its row (head, data), and what they leave
 * of it, @windows for each. Both return 0 or what stops it.
 */
struct sums_cover {
	int (*sum)(void *ctx, struct sqlite3_stmt *row);
	int (*windows)(void *ctx, int64_t start_ns, int64_t end_ns);
	void *ctx;
};

int sums_cover(struct reader *rd, uint32_t series, int64_t start_ns, int64_t end_ns,
	       const struct sums_cover *cover, struct err *err);
