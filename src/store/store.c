/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches each operation to the kind of store. */
#include "store/store.h"

#include <string.h>

bool store_tenant_valid(const char *tenant)
{
	size_t len = strlen(tenant);

	return len && len <= STORE_TENANT_MAX && strspn(tenant, ".") < len &&
	       strspn(tenant,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
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

int store_merge(struct store *s, const struct store_select *sel, struct merged_stacks **out,
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

int store_sample_times(struct store *s, const struct store_select *sel, store_sample_times_fn fn,
		       void *ctx, struct err *err)
{
	return s->ops->sample_times(s, sel, fn, ctx, err);
}

int store_samples(struct store *s, const struct store_select *sel, int64_t before_ns,
		  struct timed_samples *out, struct err *err)
{
	return s->ops->samples(s, sel, before_ns, out, err);
}

int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err)
{
	return s->ops->stats(s, tenant, out, err);
}

int store_usage(struct store *s, struct store_usage *out, struct err *err)
{
	return s->ops->usage(s, out, err);
}

int store_days(struct store *s, const char *tenant, store_usage_fn fn, void *ctx, struct err *err)
{
	return s->ops->days(s, tenant, fn, ctx, err);
}

int store_roll_up(struct store *s, int64_t before_ns, struct err *err)
{
	return s->ops->roll_up(s, before_ns, err);
}

int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err)
{
	return s->ops->retain(s, oldest_ns, max_bytes, now_ns, err);
}
