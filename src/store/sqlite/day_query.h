/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queries of one day. Any thread. A query has a connection of its own, which fixes the state of the
 * file that it sees. It holds the day's lock only to read the dictionary, and the caller holds the
 * day (day_cache.h) for the whole call.
 */
#include <pthread.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/sqlite/reader_pool.h"
#include "store/store.h"

struct stack_dict;

struct span {
	int64_t first, last; /* first > last: the series has no committed window */
};

/* The part of a day that queries use: what it holds in memory, and its read connections. */
struct day_state {
	pthread_rwlock_t lock; /* guards dict and spans */
	struct stack_dict *dict;
	struct {
		VEC(struct span);
	} spans; /* indexed by series */
	struct reader_pool readers;
};

/*
 * As the store's operations. Results of this day are added to @out or passed to the callbacks. All
 * return 0 or -errno: -EBADMSG for damaged data, -ETIMEDOUT at the deadline, -EFBIG for too many
 * samples, or what a callback returned. Callbacks are called without the lock.
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
