/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queries of one day. Any thread. A query has a connection of its own, which fixes the state of the
 * file that it sees. It reads the dictionary and the spans without a lock while the appending
 * thread extends them, so a query that the scheduler interrupts delays no push. The caller holds
 * the day (day_cache.h) for the whole call.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "base/stable.h"
#include "store/sqlite/reader_pool.h"
#include "store/store.h"

struct stack_dict;

/*
 * Each end changes by itself. A query that sees only one of two changes sees the span without the
 * window that caused them, or one that is too wide.
 */
struct span {
	_Atomic int64_t first, last; /* first > last: the series has no committed window */
};

/* The part of a day that queries use: what it holds in memory, and its read connections. */
struct day_state {
	struct stack_dict *dict; /* of which the appending thread is the one that adds */
	struct stable spans;     /* of struct span, indexed by series; the same */
	struct reader_pool readers;
};

static inline struct span *day_state_span(const struct day_state *d, uint32_t series)
{
	return stable_at(&d->spans, series);
}

/*
 * As the store's operations. Results of this day are added to @out or passed to the callbacks. All
 * return 0 or -errno: -EBADMSG for damaged data, -ETIMEDOUT at the deadline, -EFBIG for too many
 * samples, or what a callback returned.
 */
int day_query_merge(struct day_state *d, const struct store_select *sel, struct merged_stacks *out,
		    struct err *err);
int day_query_series(struct day_state *d, const struct store_select *sel, store_series_fn fn,
		     void *ctx, struct err *err);
int day_query_sample_times(struct day_state *d, const struct store_select *sel,
			   store_sample_times_fn fn, void *ctx, struct err *err);
int day_query_samples(struct day_state *d, const struct store_select *sel, int64_t before_ns,
		      struct timed_samples *out, struct err *err);
int day_query_points(struct day_state *d, const struct store_select *sel, store_series_fn series,
		     store_point_fn point, void *ctx, struct err *err);
