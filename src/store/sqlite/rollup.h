/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rollups: sums of the windows of a series over ten minutes (level 0) and two hours (level 1),
 * stored next to the windows. A query uses the rollups that lie within its range and windows for
 * the remainder, so its result is the same. A rollup is deleted when a window is added to its slot.
 *
 * With two levels, a query over a day needs at most twelve sums of two hours and, at each end, up
 * to eleven of ten minutes and the windows of less than ten minutes. A sum that does not
 * fit into 64 bits remains a limit of int64_t, as in windows (base/saturate.h), so it is refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/sqlite/rollup_due.h"
#include "store/sqlite/rollup_level.h"

struct err;
struct reader;
struct rollup_head;
struct sqlite3;
struct sqlite3_stmt;

/*
 * Adds every slot with several windows and without a rollup to @due. Reads the heads of all windows
 * of the day. Returns 0 or -errno.
 */
int rollup_search(struct sqlite3 *db, struct rollup_due *due, struct err *err);

/*
 * Counts the windows of the slots and removes those that get no rollup: with a single window, which
 * gain nothing, and with a pack, which has the sum. Slots to pack stay, without a number. Returns 0
 * or -errno.
 */
int rollup_count_windows(struct reader *rd, struct rollup_slots *slots, struct err *err);

/*
 * Buffers for building, reused from slot to slot. Zero-initialize it. values has n_types numbers
 * for each of the day's nodes, which is its largest part.
 */
struct rollup_builder {
	struct block block;
	struct columns_writer writer;
	int64_t *values; /* n_types per node; all zero between slots */
	uint32_t n_nodes, n_types;
	struct {
		VEC(uint32_t);
	} touched;
};

/* A rollup and its place. Zero-initialize the buffers. */
struct rollup_sum {
	struct rollup_slot slot;
	struct buf head, data; /* encoded */
};

static inline void rollup_sum_fini(struct rollup_sum *s)
{
	buf_fini(&s->head);
	buf_fini(&s->data);
}

void rollup_builder_fini(struct rollup_builder *b);
/*
 * Builds the rollup of @sum->slot into the buffers of @sum. Returns 0 or -errno. @n_nodes is the
 * number of nodes of the dictionary; a block with others is damaged (-EBADMSG). The builder stays
 * usable after a failure.
 */
int rollup_build(struct rollup_builder *b, struct reader *rd, struct rollup_sum *sum,
		 uint32_t n_types, uint32_t n_nodes, struct err *err);

/* Encodes a sum of @n nodes, with checksums if @checked. Returns 0 or -ENOMEM. */
int rollup_write(struct columns_writer *w, const struct rollup_head *head, const uint32_t *nodes,
		 const int64_t *values, size_t n, size_t n_types, bool checked,
		 struct rollup_sum *out);

/*
 * Stores a rollup with @stmt (ROLLUP_PUT), unless a window was added to its slot since it was
 * counted. Returns 0 or -errno.
 */
int rollup_put(struct sqlite3 *db, struct sqlite3_stmt *stmt, const struct rollup_sum *sum,
	       struct err *err);

/*
 * The statement compares number and last block of the slot's windows with those that were summed.
 * Both change when a window is added, and block ids only rise, so equality means that nothing was
 * added in between.
 */
#define ROLLUP_PUT                                                                                 \
	"INSERT OR REPLACE INTO sums SELECT ?1, ?2, ?3, ?4, ?5 WHERE"                              \
	" (SELECT count(*)=?6 AND max(block)=?7 FROM windows"                                      \
	" WHERE series=?1 AND time BETWEEN ?3 AND ?8)"

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
