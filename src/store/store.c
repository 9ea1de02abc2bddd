/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of store it is. */
#include "store/store.h"

#include "store/click.h"
#include "store/local.h"

int store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	return opt->url ? click_open(out, opt, err) : local_open(out, opt, err);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

int store_append(struct store *s, const char *tenant, const struct store_profile *profiles,
		 size_t n, struct err *err)
{
	return s->ops->append(s, tenant, profiles, n, err);
}

int store_merge(struct store *s, const struct store_select *sel, struct stacks **out,
		struct err *err)
{
	return s->ops->merge(s, sel, out, err);
}

int store_series(struct store *s, const struct store_select *sel, store_series_fn fn, void *ctx,
		 struct err *err)
{
	return s->ops->series(s, sel, fn, ctx, err);
}

int store_points(struct store *s, const struct store_select *sel, store_series_fn series,
		 store_point_fn point, void *ctx, struct err *err)
{
	return s->ops->points(s, sel, series, point, ctx, err);
}

int store_times(struct store *s, const struct store_select *sel, store_times_fn fn, void *ctx,
		struct err *err)
{
	return s->ops->times(s, sel, fn, ctx, err);
}

int store_moments(struct store *s, const struct store_select *sel, int64_t before_ns,
		  struct moments *out, struct err *err)
{
	return s->ops->moments(s, sel, before_ns, out, err);
}

int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err)
{
	return s->ops->stats(s, tenant, out, err);
}

int store_usage(struct store *s, struct store_usage *out, struct err *err)
{
	return s->ops->usage(s, out, err);
}

int store_days(struct store *s, const char *tenant, usage_fn fn, void *ctx, struct err *err)
{
	return s->ops->days(s, tenant, fn, ctx, err);
}

int store_sum_up(struct store *s, int64_t before_ns, struct err *err)
{
	return s->ops->sum_up(s, before_ns, err);
}

int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err)
{
	return s->ops->retain(s, oldest_ns, max_bytes, now_ns, err);
}
