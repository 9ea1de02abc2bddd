/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite_query.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "flame/merged_stacks.h"
#include "store/sqlite/day_files.h"
#include "store/sqlite/day_query.h"
#include "store/sqlite/day_spans.h"
#include "store/sqlite/sqlite_usage.h"
#include "store/timed_samples.h"

static int visit(struct store *base, const struct store_select *sel, day_visit_fn fn, void *ctx,
		 struct err *err)
{
	struct sqlite_days *s = (struct sqlite_days *)base;

	if (!store_tenant_valid(sel->tenant))
		return err_set(err, -EINVAL, "invalid tenant name");
	return s->visit(s, sel, fn, ctx, err);
}

/*
 * Arguments of one operation for its per-day callback; each operation sets the members that it
 * uses.
 */
struct day_args {
	const struct store_select *sel;
	struct merged_stacks *stacks;
	store_series_fn series;
	store_point_fn point;
	store_sample_times_fn times;
	void *ctx;
	struct store_stats *stats;
	int64_t before_ns;
	struct timed_samples *samples;
};

static int merge_day(struct day_state *d, void *ctx, struct err *err)
{
	const struct day_args *q = ctx;

	return day_query_merge(d, q->sel, q->stacks, err);
}

static int series_of_day(struct day_state *d, void *ctx, struct err *err)
{
	const struct day_args *q = ctx;

	return day_query_series(d, q->sel, q->series, q->ctx, err);
}

static int points_of_day(struct day_state *d, void *ctx, struct err *err)
{
	const struct day_args *q = ctx;

	return day_query_points(d, q->sel, q->series, q->point, q->ctx, err);
}

static int sample_times_of_day(struct day_state *d, void *ctx, struct err *err)
{
	const struct day_args *q = ctx;

	return day_query_sample_times(d, q->sel, q->times, q->ctx, err);
}

static int samples_of_day(struct day_state *d, void *ctx, struct err *err)
{
	const struct day_args *q = ctx;

	return day_query_samples(d, q->sel, q->before_ns, q->samples, err);
}

static int stats_of_day(struct day_state *d, void *ctx, struct err *err)
{
	struct store_stats *out = ((struct day_args *)ctx)->stats;
	int64_t first, last;

	if (day_spans_all(d, &first, &last) < 0)
		return 0;
	if (!out->has_data || first < out->oldest_ns)
		out->oldest_ns = first;
	if (!out->has_data || last > out->newest_ns)
		out->newest_ns = last;
	out->has_data = true;
	return 0;
}

int sqlite_query_merge(struct store *base, const struct store_select *sel,
		       struct merged_stacks **out, struct err *err)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *stacks = NULL;
	struct day_args q = { .sel = sel };
	int r = merged_stacks_new(&stacks);

	if (r < 0)
		return r;
	stacks->max_nodes = sel->max_nodes;
	q.stacks = stacks;
	r = visit(base, sel, merge_day, &q, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&stacks);
	return 0;
}

int sqlite_query_series(struct store *base, const struct store_select *sel, store_series_fn fn,
			void *ctx, struct err *err)
{
	struct day_args q = { .sel = sel, .series = fn, .ctx = ctx };

	return visit(base, sel, series_of_day, &q, err);
}

int sqlite_query_points(struct store *base, const struct store_select *sel, store_series_fn series,
			store_point_fn point, void *ctx, struct err *err)
{
	struct day_args q = { .sel = sel, .series = series, .point = point, .ctx = ctx };

	return visit(base, sel, points_of_day, &q, err);
}

int sqlite_query_sample_times(struct store *base, const struct store_select *sel,
			      store_sample_times_fn fn, void *ctx, struct err *err)
{
	struct day_args q = { .sel = sel, .times = fn, .ctx = ctx };

	return visit(base, sel, sample_times_of_day, &q, err);
}

int sqlite_query_samples(struct store *base, const struct store_select *sel, int64_t before_ns,
			 struct timed_samples *out, struct err *err)
{
	struct store_select wider = *sel;
	struct day_args q = { .sel = sel, .before_ns = before_ns, .samples = out };
	int r = merged_stacks_new(&out->stacks);

	wider.start_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	return r < 0 ? r : visit(base, &wider, samples_of_day, &q, err);
}

int sqlite_query_stats(struct store *base, const char *tenant, struct store_stats *out,
		       struct err *err)
{
	const struct store_select all = { .tenant = tenant, .end_ns = INT64_MAX };
	struct store_stats stats = { 0 };
	struct day_args q = { .stats = &stats };
	int r = visit(base, &all, stats_of_day, &q, err);

	if (r == 0)
		*out = stats;
	return r;
}

int sqlite_query_usage(struct store *base, struct store_usage *out, struct err *err)
{
	const char *dir = ((struct sqlite_days *)base)->dir;
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r = day_files_list(dir, &files);

	if (r < 0)
		return err_set(err, r, "cannot list \"%.150s\": %s", dir, strerror(-r));
	*out = (struct store_usage){ .n_days = (uint32_t)files.len };
	for (size_t i = 0; i < files.len; i++)
		out->bytes += files.data[i].bytes;
	return 0;
}

int sqlite_query_days(struct store *base, const char *tenant, store_usage_fn fn, void *ctx,
		      struct err *err)
{
	const struct sqlite_days *s = (const struct sqlite_days *)base;

	return sqlite_usage_days(s->dir, tenant, s->mode, fn, ctx, err);
}
