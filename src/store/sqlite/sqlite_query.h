/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The queries of stores that consist of day files, whether these are written (sqlite_store.h) or
 * only read (replica_store.h). The functions are members of struct store_ops.
 */
#include "store/sqlite/db.h"
#include "store/store.h"

struct day_state;
struct err;

typedef int (*day_visit_fn)(struct day_state *d, void *ctx, struct err *err);

/* The first member of such a store. */
struct sqlite_days {
	struct store base;
	char *dir;
	enum db_mode mode; /* of connections that read */
	/*
	 * Calls @fn for each day of the tenant, whose name is valid, in the range, oldest first.
	 * Returns 0 or the first failure.
	 */
	int (*visit)(struct sqlite_days *s, const struct store_select *sel, day_visit_fn fn,
		     void *ctx, struct err *err);
};

int sqlite_query_merge(struct store *base, const struct store_select *sel,
		       struct merged_stacks **out, struct err *err);
int sqlite_query_series(struct store *base, const struct store_select *sel, store_series_fn fn,
			void *ctx, struct err *err);
int sqlite_query_points(struct store *base, const struct store_select *sel, store_series_fn series,
			store_point_fn point, void *ctx, struct err *err);
int sqlite_query_sample_times(struct store *base, const struct store_select *sel,
			      store_sample_times_fn fn, void *ctx, struct err *err);
int sqlite_query_samples(struct store *base, const struct store_select *sel, int64_t before_ns,
			 struct timed_samples *out, struct err *err);
int sqlite_query_stats(struct store *base, const char *tenant, struct store_stats *out,
		       struct err *err);
int sqlite_query_usage(struct store *base, struct store_usage *out, struct err *err);
int sqlite_query_days(struct store *base, const char *tenant, store_usage_fn fn, void *ctx,
		      struct err *err);

/* These members of such a store's struct store_ops. */
#define SQLITE_QUERY_OPS                                                                           \
	.merge = sqlite_query_merge, .series = sqlite_query_series, .points = sqlite_query_points, \
	.sample_times = sqlite_query_sample_times, .samples = sqlite_query_samples,                \
	.stats = sqlite_query_stats, .usage = sqlite_query_usage, .days = sqlite_query_days
