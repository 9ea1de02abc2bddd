/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Questions to one day. */
#include <pthread.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/readers.h"
#include "store/store.h"

struct moments;
struct stacks;
struct symbols;

struct span {
	int64_t first, last; /* first > last: no window is committed */
};

/* What a day has in memory, and its connections. */
struct day_state {
	pthread_rwlock_t lock; /* symbols, spans */
	struct symbols *symbols;
	struct {
		VEC(struct span);
	} spans; /* by series */
	struct readers readers;
};

/* As the store's; what is of this day is added. */
int ask_merge(struct day_state *d, const struct store_select *sel, struct stacks *out,
	      struct err *err);
int ask_series(struct day_state *d, const struct store_select *sel, store_series_fn fn, void *ctx,
	       struct err *err);
int ask_times(struct day_state *d, const struct store_select *sel, store_times_fn fn, void *ctx,
	      struct err *err);
int ask_moments(struct day_state *d, const struct store_select *sel, int64_t before_ns,
		struct moments *out, struct err *err);
int ask_points(struct day_state *d, const struct store_select *sel, store_series_fn series,
	       store_point_fn point, void *ctx, struct err *err);
