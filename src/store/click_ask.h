/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Questions to a ClickHouse: as the store's. Any thread. */
#include "store/store.h"

struct click_http;

int click_ask_merge(struct click_http *h, const struct store_select *sel, struct stacks *out,
		    struct err *err);
int click_ask_series(struct click_http *h, const struct store_select *sel, store_series_fn fn,
		     void *ctx, struct err *err);
int click_ask_points(struct click_http *h, const struct store_select *sel, store_series_fn series,
		     store_point_fn point, void *ctx, struct err *err);
int click_ask_times(struct click_http *h, const struct store_select *sel, store_times_fn fn,
		    void *ctx, struct err *err);
int click_ask_moments(struct click_http *h, const struct store_select *sel, int64_t before_ns,
		      struct moments *out, struct err *err);
