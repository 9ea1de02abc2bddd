/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rollups: sums of the windows of a series over ten minutes (level 0) and two hours (level 1),
 * stored next to the windows. A query uses the rollups that lie within its range and windows for
 * the remainder, so its result is the same. A rollup is deleted when a window is added to its slot.
 *
 * With two levels, a query over a day needs at most twelve sums of two hours and, at each end, up
 * to eleven of ten minutes and the windows of less than ten minutes. Sums saturate like those of
 * windows; addition that saturates depends on the order only when totals approach 2^63.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/sqlite/rollup_level.h"

struct err;
struct reader;
struct sqlite3;
struct sqlite3_stmt;

/*
 * The place of one rollup: series, level and time, and the windows in it. n_windows and last_block
 * describe the slot when it was found and decide later whether its rollup is still valid.
 */
struct rollup_slot {
	uint32_t series;
	int level;
	int64_t start, n_windows, last_block;
};

struct rollup_slots {
	VEC(struct rollup_slot);
};

void rollup_slots_fini(struct rollup_slots *s);

/*
 * Appends slots that ended before @before_ns, have several windows, none of them after block
 * @max_block, and no rollup yet; at most @limit in all. Returns 0 or -errno. A caller that passes
 * the last block of its previous search as @max_block therefore finds a slot in the second search
 * after its last window.
 */
int rollup_find(struct sqlite3 *db, int64_t before_ns, int64_t max_block, size_t limit,
		struct rollup_slots *out, struct err *err);

/*
 * Buffers for building, reused from slot to slot. Zero-initialize it. values has n_types numbers
 * for each of the day's nodes, which is its largest part.
 */
struct rollup_builder {
	struct block block;
	struct block_writer writer;
	int64_t *values; /* n_types per node; all zero between slots */
	uint32_t n_nodes, n_types;
	struct {
		VEC(uint32_t);
	} touched;
	struct buf head, data; /* the encoded rollup */
};

void rollup_builder_fini(struct rollup_builder *b);
/*
 * Builds the rollup of a slot into @b->head and @b->data. Returns 0 or -errno. @n_nodes is the
 * number of nodes of the dictionary; a block with others is damaged (-EBADMSG). The builder stays
 * usable after a failure.
 */
int rollup_build(struct rollup_builder *b, struct reader *rd, const struct rollup_slot *slot,
		 uint32_t n_types, uint32_t n_nodes, struct err *err);

/* The number of windows in a rollup, the sum of their durations and the period of the first one. */
struct rollup_head {
	int64_t n_windows, duration_ns, period;
};

/* Returns 0 or -EBADMSG. */
int rollup_read_head(const void *data, size_t len, struct rollup_head *out);

/*
 * Callbacks that receive a range split into rollups, each with its row (head, data), and gaps that
 * only windows cover. A negative return value stops the iteration.
 */
struct rollup_cover {
	int (*sum)(void *ctx, struct sqlite3_stmt *row);
	int (*windows)(void *ctx, int64_t start_ns, int64_t end_ns);
	void *ctx;
};

/*
 * Splits the range of a series, coarsest level first, into calls of @cover. Returns 0 or -errno.
 * Both ends are included. Each window of the range is in exactly one of the calls; their order is
 * not that of time. @cover->sum may only read its row, which is valid during the call.
 */
int rollup_cover(struct reader *rd, uint32_t series, int64_t start_ns, int64_t end_ns,
		 const struct rollup_cover *cover, struct err *err);
