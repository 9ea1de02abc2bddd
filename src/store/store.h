/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where profiles are kept: append, and ask by labels and time. Totals of any
 * merge equal the sums appended. Threads may call everything at once.
 *
 * A profile becomes a series for each of its sample types, named
 * NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT, and for each distinct set of labels
 * of its samples. Every series has, beside its own labels, __name__,
 * __profile_type__, __type__, __unit__, __period_type__, __period_unit__ and
 * __service_name__.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/usage.h"

struct err;
struct matcher;
struct profile;
struct moments;
struct stacks;
struct store;

typedef void (*store_warn_fn)(void *ctx, const char *message);

struct store_options {
	const char *dir;    /* made if it is missing */
	const char *url;    /* of a ClickHouse instead (store/click.h); or NULL */
	int64_t keep_ns;    /* how long days are kept at least; 0: for ever */
	store_warn_fn warn; /* told of files set aside; from any thread; or NULL */
	void *warn_ctx;
};

struct store_label {
	const char *name, *value;
};

struct store_profile {
	const char *name;                 /* "process_cpu" */
	const struct store_label *labels; /* sorted by name, no name twice */
	size_t n_labels;
	int64_t time_ns;
	const char *id;     /* appended once with the same labels and id_time; or NULL */
	int64_t id_time_ns; /* the time that the profile itself tells, or 0 */
	const struct profile *profile;
};

/* NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT */
struct store_type {
	const char *name, *type, *unit, *period_type, *period_unit;
};

/* Both ends are in the range. */
struct store_select {
	const char *tenant;
	const struct store_type *type; /* NULL: all, for series and types */
	struct matcher *const *matchers;
	size_t n_matchers;
	int64_t start_ns, end_ns;
	int64_t deadline_ns;    /* CLOCK_MONOTONIC; 0: none; beyond it -ETIMEDOUT */
	const char *const *ids; /* merges: only profiles of these; n_ids 0: of any */
	size_t n_ids;
	bool names_only;              /* frames of equal name are one */
	const char *const *call_site; /* points: only stacks that begin so, root first */
	size_t n_call_site;
};

struct store_point {
	int64_t time_ns, value;
};

/* Return below 0 to stop: it is what the caller gets. Labels are sorted by name. */
typedef int (*store_series_fn)(void *ctx, const struct store_label *labels, size_t n);
typedef int (*store_point_fn)(void *ctx, const struct store_point *point);

/* A window and when its samples were taken, if that is known. */
typedef int (*store_times_fn)(void *ctx, const struct store_point *window, const int64_t *times_ns,
			      size_t n);

struct store_stats {
	bool has_data;
	int64_t oldest_ns, newest_ns;
};

struct store_usage {
	uint64_t bytes;
	uint32_t n_days;
};

/* What kinds of stores do, each as the function of its name below. */
struct store_ops {
	int (*append)(struct store *s, const char *tenant, const struct store_profile *profiles,
		      size_t n, struct err *err);
	int (*merge)(struct store *s, const struct store_select *sel, struct stacks **out,
		     struct err *err);
	int (*series)(struct store *s, const struct store_select *sel, store_series_fn fn,
		      void *ctx, struct err *err);
	int (*points)(struct store *s, const struct store_select *sel, store_series_fn series,
		      store_point_fn point, void *ctx, struct err *err);
	int (*times)(struct store *s, const struct store_select *sel, store_times_fn fn, void *ctx,
		     struct err *err);
	int (*moments)(struct store *s, const struct store_select *sel, int64_t before_ns,
		       struct moments *out, struct err *err);
	int (*stats)(struct store *s, const char *tenant, struct store_stats *out, struct err *err);
	int (*usage)(struct store *s, struct store_usage *out, struct err *err);
	int (*days)(struct store *s, const char *tenant, usage_fn fn, void *ctx, struct err *err);
	int (*sum_up)(struct store *s, int64_t before_ns, struct err *err);
	int (*retain)(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		      struct err *err);
	void (*close)(struct store *s);
};

struct store {
	const struct store_ops *ops;
};

/* 0; -errno, and @err says why. */
int store_open(struct store **out, const struct store_options *opt, struct err *err);

/* What was acknowledged is on disk already; nobody may be in a call. */
void store_close(struct store *s);

DEFINE_FREEP(struct store, store_close)

/* Letters, digits and `-_.`, not only dots, up to 64. */
bool store_tenant_valid(const char *tenant);

/**
 * store_append() - keep profiles, all or none of those of one UTC day
 *
 * When it returns 0 they survive a crash, and the next question sees them.
 *
 * Return: 0; -EINVAL for what can't be a series; -ENOSPC when the disk is full;
 * -errno. After an error the same profiles may be appended again.
 */
int store_append(struct store *s, const char *tenant, const struct store_profile *profiles,
		 size_t n, struct err *err);

/* All selected windows merged: 0 and new stacks, maybe empty. */
int store_merge(struct store *s, const struct store_select *sel, struct stacks **out,
		struct err *err);

/* Each series with windows in the range; once for each UTC day it is in. */
int store_series(struct store *s, const struct store_select *sel, store_series_fn fn, void *ctx,
		 struct err *err);

/* Each series, then each of its windows in the order of time. */
int store_points(struct store *s, const struct store_select *sel, store_series_fn series,
		 store_point_fn point, void *ctx, struct err *err);

/* Each window of one type, with the times of its samples. */
int store_times(struct store *s, const struct store_select *sel, store_times_fn fn, void *ctx,
		struct err *err);

/*
 * Single samples of one type in the range (store/moments.h), of windows that begin in it or up to
 * @before_ns before. -EFBIG when they are more than MOMENTS_MAX.
 */
int store_moments(struct store *s, const struct store_select *sel, int64_t before_ns,
		  struct moments *out, struct err *err);

int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err);
int store_usage(struct store *s, struct store_usage *out, struct err *err);

/* What takes the space, as usage_days(). */
int store_days(struct store *s, const char *tenant, usage_fn fn, void *ctx, struct err *err);

/*
 * Make sums of what has been left alone since the last time and is older than
 * @before_ns, so that questions about it need less work. Answers stay the same. One
 * thread at a time.
 */
int store_sum_up(struct store *s, int64_t before_ns, struct err *err);

/*
 * Drop whole days: those that ended before @oldest_ns, then the oldest until no more
 * than @max_bytes are left; today's stay. 0 is no limit. Returns how many, or -errno.
 */
int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err);
