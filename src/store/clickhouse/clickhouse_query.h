/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The query operations of store/store.h on ClickHouse; results are added to @out. Any thread.
 *
 * The selection and the callbacks behave as documented for the operation of the same name in
 * store/store.h. A query consists of several statements, and nothing makes them see one state of
 * the database: a window that is inserted between two statements may be counted although its stack
 * is not known yet (clickhouse_stacks.h). Totals are complete in any case. Memory: all rows of one
 * statement, at most CLICKHOUSE_MAX_RESPONSE, plus the dictionary of the selected series.
 */
#include "store/store.h"

struct clickhouse_http;

/*
 * Adds the sum of the selected windows to @out; if it fails, @out may hold a part and should be
 * dropped. The statements for values and for the number of windows repeat the same selection,
 * because ARRAY JOIN multiplies rows.
 */
int clickhouse_query_merge(struct clickhouse_http *h, const struct store_select *sel,
			   struct merged_stacks *out, struct err *err);
int clickhouse_query_series(struct clickhouse_http *h, const struct store_select *sel,
			    store_series_fn fn, void *ctx, struct err *err);
int clickhouse_query_points(struct clickhouse_http *h, const struct store_select *sel,
			    store_series_fn series, store_point_fn point, void *ctx,
			    struct err *err);
int clickhouse_query_sample_times(struct clickhouse_http *h, const struct store_select *sel,
				  store_sample_times_fn fn, void *ctx, struct err *err);
/*
 * Adds samples to @out, whose stacks the caller has allocated. Returns 0, -EFBIG beyond
 * TIMED_SAMPLES_MAX, or -errno; @out is then incomplete and can only be freed.
 */
int clickhouse_query_samples(struct clickhouse_http *h, const struct store_select *sel,
			     int64_t before_ns, struct timed_samples *out, struct err *err);
