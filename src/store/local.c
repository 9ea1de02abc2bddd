/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of days: what is asked goes to each day in the range, what is
 * appended to the one thread that writes, what is too old is dropped a day at a
 * time.
 */
#include "store/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "store/ask.h"
#include "store/day.h"
#include "store/days.h"
#include "store/files.h"
#include "store/moments.h"
#include "store/stacks.h"
#include "store/usage.h"
#include "store/writer.h"

enum { SUMMED_DAYS = 16 };

struct local {
	struct store base;
	char *dir;
	int dir_lock;
	struct days *days;
	struct writer *writer;
};

static struct local *local_of(struct store *base)
{
	return (struct local *)base; /* its first member */
}

static int local_append(struct store *base, const char *tenant,
			const struct store_profile *profiles, size_t n, struct err *err)
{
	struct local *s = local_of(base);
	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	for (size_t i = 0; i < n; i++)
		if (profiles[i].time_ns < 0)
			return err_set(err, -EINVAL, "a profile is from before 1970");
	return writer_append(s->writer, tenant, profiles, n, err);
}

/* Asking */

typedef int (*ask_fn)(struct day *d, void *ctx, struct err *err);

static int ask_days(struct local *s, const char *tenant, int64_t start_ns, int64_t end_ns,
		    ask_fn fn, void *ctx, struct err *err)
{
	_cleanup_(files_fini) struct files files = { 0 };
	int r;

	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	r = files_list_tenant(s->dir, tenant, &files);
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		struct day_ref *ref;

		if (files.data[i].number < files_day(start_ns) ||
		    files.data[i].number > files_day(end_ns))
			continue;
		r = days_take(s->days, tenant, files.data[i].number, false, &ref, err);
		if (r == -ENOENT)
			r = 0;
		else if (r == 0) {
			r = fn(days_day(ref), ctx, err);
			days_give(s->days, ref);
		}
	}
	return r;
}

struct question {
	const struct store_select *sel;
	struct stacks *stacks;
	store_series_fn series;
	store_point_fn point;
	store_times_fn times;
	void *ctx;
	struct store_stats *stats;
	int64_t before_ns;
	struct moments *moments;
};

static int merge_day(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return ask_merge(day_state(d), q->sel, q->stacks, err);
}

static int series_of_day(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return ask_series(day_state(d), q->sel, q->series, q->ctx, err);
}

static int points_of_day(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return ask_points(day_state(d), q->sel, q->series, q->point, q->ctx, err);
}

static int times_of_day(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return ask_times(day_state(d), q->sel, q->times, q->ctx, err);
}

static int moments_of_day(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return ask_moments(day_state(d), q->sel, q->before_ns, q->moments, err);
}

static int stats_of_day(struct day *d, void *ctx, struct err *err)
{
	struct store_stats *out = ((struct question *)ctx)->stats;
	int64_t first, last;

	if (day_span(d, &first, &last) < 0)
		return 0;
	if (!out->has_data || first < out->oldest_ns)
		out->oldest_ns = first;
	if (!out->has_data || last > out->newest_ns)
		out->newest_ns = last;
	out->has_data = true;
	return 0;
}

static int local_merge(struct store *base, const struct store_select *sel, struct stacks **out,
		       struct err *err)
{
	struct local *s = local_of(base);
	_cleanup_(stacks_freep) struct stacks *stacks = NULL;
	struct question q = { .sel = sel };
	int r = stacks_new(&stacks);

	if (r < 0)
		return r;
	q.stacks = stacks;
	r = ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, merge_day, &q, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&stacks);
	return 0;
}

static int local_series(struct store *base, const struct store_select *sel, store_series_fn fn,
			void *ctx, struct err *err)
{
	struct local *s = local_of(base);
	struct question q = { .sel = sel, .series = fn, .ctx = ctx };

	return ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, series_of_day, &q, err);
}

static int local_points(struct store *base, const struct store_select *sel, store_series_fn series,
			store_point_fn point, void *ctx, struct err *err)
{
	struct local *s = local_of(base);
	struct question q = { .sel = sel, .series = series, .point = point, .ctx = ctx };

	return ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, points_of_day, &q, err);
}

static int local_times(struct store *base, const struct store_select *sel, store_times_fn fn,
		       void *ctx, struct err *err)
{
	struct local *s = local_of(base);
	struct question q = { .sel = sel, .times = fn, .ctx = ctx };

	return ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, times_of_day, &q, err);
}

static int local_moments(struct store *base, const struct store_select *sel, int64_t before_ns,
			 struct moments *out, struct err *err)
{
	struct local *s = local_of(base);
	int64_t start_ns = sel->start_ns < before_ns ? 0 : sel->start_ns - before_ns;
	struct question q = { .sel = sel, .before_ns = before_ns, .moments = out };
	int r = stacks_new(&out->stacks);

	if (r < 0)
		return r;
	return ask_days(s, sel->tenant, start_ns, sel->end_ns, moments_of_day, &q, err);
}

static int local_stats(struct store *base, const char *tenant, struct store_stats *out,
		       struct err *err)
{
	struct local *s = local_of(base);
	struct store_stats stats = { 0 };
	struct question q = { .stats = &stats };
	int r = ask_days(s, tenant, 0, INT64_MAX, stats_of_day, &q, err);

	if (r == 0)
		*out = stats;
	return r;
}

static int local_usage(struct store *base, struct store_usage *out, struct err *err)
{
	struct local *s = local_of(base);
	_cleanup_(files_fini) struct files files = { 0 };
	int r = files_list(s->dir, &files);

	if (r < 0)
		return err_set(err, r, "%s: %s", s->dir, strerror(-r));
	*out = (struct store_usage){ .n_days = (uint32_t)files.len };
	for (size_t i = 0; i < files.len; i++)
		out->bytes += files.data[i].bytes;
	return 0;
}

/* Sums */

struct summing {
	struct day *day;
	const struct sums_slot *slot;
	struct sums_builder builder;
};

static void summing_fini(struct summing *s)
{
	sums_builder_fini(&s->builder);
}

static int put_sum(void *ctx, struct err *err)
{
	struct summing *s = ctx;

	return day_put_sum(s->day, s->slot, &s->builder, err);
}

static int sum_up_day(struct local *s, struct day *day, int64_t before_ns, struct err *err)
{
	_cleanup_(summing_fini) struct summing job = { .day = day };
	_cleanup_(sums_slots_fini) struct sums_slots slots = { 0 };
	int r = day_find_sums(day, before_ns, &slots, err);

	for (size_t i = 0; r == 0 && i < slots.len; i++) {
		job.slot = &slots.data[i];
		r = day_build_sum(day, job.slot, &job.builder, err);
		if (r == 0)
			r = writer_run(s->writer, put_sum, &job, err);
	}
	return r;
}

static int local_sum_up(struct store *base, int64_t before_ns, struct err *err)
{
	struct local *s = local_of(base);
	struct day_ref *open[SUMMED_DAYS];
	size_t n = days_open(s->days, open, SUMMED_DAYS);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (r == 0)
			r = sum_up_day(s, days_day(open[i]), before_ns, err);
		days_give(s->days, open[i]);
	}
	return r;
}

/* Retention */

static int local_retain(struct store *base, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
			struct err *err)
{
	struct local *s = local_of(base);
	_cleanup_(files_fini) struct files files = { 0 };
	uint64_t bytes = 0;
	int n = 0, r = files_list(s->dir, &files);

	for (size_t i = 0; i < files.len; i++)
		bytes += files.data[i].bytes;
	for (size_t i = 0; r >= 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		bool old = oldest_ns && (f->number + 1) * DAY_NS <= oldest_ns;

		if (f->number >= files_day(now_ns) || (!old && (!max_bytes || bytes <= max_bytes)))
			continue;
		r = days_drop(s->days, f->tenant, f->number);
		if (r > 0) {
			bytes -= f->bytes;
			n++;
		}
	}
	return r < 0 ? err_set(err, r, "dropping old days: %s", strerror(-r)) : n;
}

/* Opening */

static void local_free(struct local *s)
{
	if (!s)
		return;
	writer_free(s->writer);
	days_free(s->days);
	closep(&s->dir_lock);
	free(s->dir);
	free(s);
}

DEFINE_FREEP(struct local, local_free)

static void local_close(struct store *base)
{
	local_free(local_of(base));
}

static int local_days(struct store *base, const char *tenant, usage_fn fn, void *ctx,
		      struct err *err)
{
	return usage_days(local_of(base)->dir, tenant, fn, ctx, err);
}

static const struct store_ops ops = {
	.append = local_append,
	.merge = local_merge,
	.series = local_series,
	.points = local_points,
	.times = local_times,
	.moments = local_moments,
	.stats = local_stats,
	.usage = local_usage,
	.days = local_days,
	.sum_up = local_sum_up,
	.retain = local_retain,
	.close = local_close,
};

/* One process a directory. */
static int lock_dir(struct local *s, struct err *err)
{
	char path[FILES_PATH_LEN];

	if (mkdir(s->dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", s->dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/lock", s->dir);
	s->dir_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (s->dir_lock < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (flock(s->dir_lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "%s: another process has this store open", s->dir);
	return 0;
}

int local_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(local_freep) struct local *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_lock = -1;
	s->dir = strdup(opt->dir);
	if (!s->dir)
		return -ENOMEM;
	if (strlen(s->dir) > FILES_PATH_LEN - 256)
		return err_set(err, -ENAMETOOLONG, "the store's name is too long");
	r = lock_dir(s, err);
	if (r == 0)
		r = days_new(&s->days, s->dir, opt->warn, opt->warn_ctx);
	if (r == 0)
		r = writer_new(&s->writer, s->days);
	if (r < 0)
		return r;
	s->base.ops = &ops;
	*out = &steal_ptr(&s)->base;
	return 0;
}
