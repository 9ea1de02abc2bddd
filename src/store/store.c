/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches each operation to the kind of store. */
#include "store/store.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "store/matcher.h"

bool store_tenant_valid(const char *tenant)
{
	size_t len = strlen(tenant);

	return len && len <= STORE_TENANT_MAX && strspn(tenant, ".") < len &&
	       strspn(tenant,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

/*
 * Reduces what a kind of store returns to the errors of the contract, so that an errno of a file or
 * of SQLite is never taken for something that the client did.
 */
static int result(int r)
{
	switch (r) {
	case -EBADMSG:
		return -EUCLEAN;
	case -EAGAIN:
	case -ECANCELED:
	case -ECONNREFUSED:
	case -EDQUOT:
	case -EFBIG:
	case -EINVAL:
	case -ENOBUFS:
	case -ENOMEM:
	case -ENOSPC:
	case -ENOSYS:
	case -ETIMEDOUT:
	case -EUCLEAN:
		return r;
	default:
		return r < 0 ? -EIO : r;
	}
}

/* Returns 0, or -EFBIG if @sum is a sum that did not fit into 64 bits (base/saturate.h). */
static int check_sum(int64_t sum, struct err *err)
{
	if (!is_saturated(sum))
		return 0;
	return err_set(err, -EFBIG,
		       "the values of the selected profiles add up to more than 2^63-2; use a "
		       "shorter range or a narrower selector");
}

int store_check_stacks(const struct merged_stacks *s, struct err *err)
{
	int64_t magnitude = 0;

	for (size_t i = 0; i < s->n; i++)
		magnitude = saturating_add_magnitude(magnitude, s->self[i]);
	return check_sum(is_saturated(s->total) ? s->total : magnitude, err);
}

/* A selection by an expression that was given up is incomplete, whatever the store returned. */
static int selected(const struct store_select *sel, int r, struct err *err)
{
	for (size_t i = 0; r >= 0 && i < sel->n_matchers; i++)
		if (matcher_failed(sel->matchers[i]))
			return err_set(err, -EINVAL,
				       "regular expression \"%.80s\" is too expensive: it exceeds "
				       "100000 steps for one value",
				       matcher_value(sel->matchers[i]));
	return result(r);
}

int store_select_check(const struct store_select *sel, struct err *err)
{
	if (sel->cancelled && atomic_load_explicit(sel->cancelled, memory_order_relaxed))
		return err_set(err, -ECANCELED, "the client has disconnected");
	if (sel->deadline_ns && (int64_t)clock_monotonic_ns() >= sel->deadline_ns)
		return err_set(err, -ETIMEDOUT,
			       "the query exceeded its time limit; use a shorter range or a "
			       "narrower selector");
	return 0;
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

int store_append(struct store *s, const char *tenant, const struct store_profile *profiles,
		 size_t n, struct err *err)
{
	return result(s->ops->append(s, tenant, profiles, n, err));
}

int store_merge(struct store *s, const struct store_select *sel, struct merged_stacks **out,
		struct err *err)
{
	struct merged_stacks *stacks = NULL;
	int r = selected(sel, s->ops->merge(s, sel, &stacks, err), err);

	if (r == 0)
		r = store_check_stacks(stacks, err);
	if (stacks && sel->read) {
		sel->read->n_windows += stacks->n_windows;
		sel->read->n_nodes += stacks->n;
	}
	if (r == -EFBIG)
		err_set(err, r,
			"the query selects more than %zu stack nodes (--query-nodes); use a "
			"shorter "
			"range or a narrower selector",
			sel->max_nodes);
	if (r < 0)
		merged_stacks_free(stacks);
	else
		*out = stacks;
	return r;
}

/*
 * The callbacks of a query, and what they have received. magnitude is the sum of all values without
 * their signs: no sum that a caller computes exceeds it.
 */
struct counted {
	store_series_fn series;
	store_point_fn point;
	store_sample_times_fn times;
	void *ctx;
	int64_t magnitude;
	struct err *err;
	struct store_read read;
};

/* Adds a window. Returns 0 or -EFBIG. */
static int count_window(struct counted *c, const struct store_point *window)
{
	c->read.n_windows++;
	c->magnitude = saturating_add_magnitude(c->magnitude, window->value);
	return check_sum(c->magnitude, c->err);
}

static int count_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct counted *c = ctx;

	c->read.n_series++;
	return c->series(c->ctx, labels, n);
}

static int count_point(void *ctx, const struct store_point *point)
{
	struct counted *c = ctx;
	int r = count_window(c, point);

	return r < 0 ? r : c->point(c->ctx, point);
}

static int count_times(void *ctx, const struct store_point *window, const int64_t *times_ns,
		       size_t n)
{
	struct counted *c = ctx;
	int r = count_window(c, window);

	c->read.n_samples += n;
	return r < 0 ? r : c->times(c->ctx, window, times_ns, n);
}

static void add_read(const struct store_select *sel, const struct counted *c)
{
	if (!sel->read)
		return;
	sel->read->n_series += c->read.n_series;
	sel->read->n_windows += c->read.n_windows;
	sel->read->n_samples += c->read.n_samples;
}

int store_series(struct store *s, const struct store_select *sel, store_series_fn fn, void *ctx,
		 struct err *err)
{
	struct counted c = { .series = fn, .ctx = ctx };
	int r = s->ops->series(s, sel, count_series, &c, err);

	add_read(sel, &c);
	return selected(sel, r, err);
}

int store_points(struct store *s, const struct store_select *sel, store_series_fn series,
		 store_point_fn point, void *ctx, struct err *err)
{
	struct counted c = { .series = series, .point = point, .ctx = ctx, .err = err };
	int r = s->ops->points(s, sel, count_series, count_point, &c, err);

	add_read(sel, &c);
	return selected(sel, r, err);
}

int store_sample_times(struct store *s, const struct store_select *sel, store_sample_times_fn fn,
		       void *ctx, struct err *err)
{
	struct counted c = { .times = fn, .ctx = ctx, .err = err };
	int r = s->ops->sample_times(s, sel, count_times, &c, err);

	add_read(sel, &c);
	return selected(sel, r, err);
}

int store_samples(struct store *s, const struct store_select *sel, int64_t before_ns,
		  struct timed_samples *out, struct err *err)
{
	return selected(sel, s->ops->samples(s, sel, before_ns, out, err), err);
}

int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err)
{
	return result(s->ops->stats(s, tenant, out, err));
}

int store_check(struct store *s, struct err *err)
{
	return result(s->ops->check(s, err));
}

int store_usage(struct store *s, struct store_usage *out, struct err *err)
{
	return result(s->ops->usage(s, out, err));
}

bool store_has_stamp(const struct store *s)
{
	return s->ops->stamp != NULL;
}

uint64_t store_stamp(struct store *s, const char *tenant, int64_t start_ns, int64_t end_ns)
{
	return s->ops->stamp(s, tenant, start_ns, end_ns);
}

void store_shrink(struct store *s)
{
	if (s->ops->shrink)
		s->ops->shrink(s);
}

int store_days(struct store *s, const char *tenant, store_usage_fn fn, void *ctx, struct err *err)
{
	return result(s->ops->days(s, tenant, fn, ctx, err));
}

int store_roll_up(struct store *s, int64_t before_ns, struct err *err)
{
	return result(s->ops->roll_up(s, before_ns, err));
}

int store_first_day(struct store *s, int64_t *day, struct err *err)
{
	return result(s->ops->first_day(s, day, err));
}

int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err)
{
	return result(s->ops->retain(s, oldest_ns, max_bytes, now_ns, err));
}
