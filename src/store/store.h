/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface of a profile store: append profiles, query them by labels and time. SQLite files
 * (store/sqlite) and ClickHouse (store/clickhouse) implement it; store/kinds opens one of them.
 * tests/unit/store/conformance.c is the contract in executable form: every kind passes it.
 *
 * A profile becomes one series for each of its sample types and for each distinct set of labels
 * of its samples, and one window (a point in time with values by stack) in each of these series.
 * A series has its own labels and those that the store derives: __name__, __profile_type__,
 * __type__, __unit__, __period_type__, __period_unit__ and __service_name__.
 *
 * Threads: any number of threads may call any operation at once, except where noted. Callbacks
 * run in the calling thread and must not call the store.
 *
 * Errors: operations return 0 or -errno and describe failures in @err, which may be NULL. All may
 * fail with -ENOMEM and -EIO, which stands for any other reason of the file system or the
 * database; queries also with -EINVAL (invalid tenant, or an expression that is too expensive),
 * -EUCLEAN (stored data is damaged or missing), -ETIMEDOUT (deadline exceeded) and -ECANCELED
 * (canceled by the caller); ClickHouse also with -ECONNREFUSED and -EAGAIN. A callback may fail
 * with -ECANCELED, -EFBIG and -ENOMEM. A query that fails may have called its callbacks already.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/usage.h"

struct err;
struct matcher;
struct merged_stacks;
struct profile;
struct store;
struct timed_samples;

/* A UTC day in nanoseconds: the unit of storage and of retention. */
#define STORE_DAY_NS 86400000000000LL

enum { STORE_TENANT_MAX = 64 }; /* characters */

/*
 * Receives one line without a line break. It may be called from any thread and must not call the
 * store.
 */
typedef void (*store_warn_fn)(void *ctx, const char *message);

struct store_options {
	const char *dir;    /* directory of a SQLite store; created if missing */
	bool read_only;     /* it is a copy, in which nothing is changed; store_append() fails */
	const char *url;    /* of a ClickHouse database instead; NULL for SQLite */
	int64_t keep_ns;    /* retention that the database applies by itself; 0 for none */
	size_t max_memory;  /* bytes that a SQLite store may hold; 0: 1 GiB */
	store_warn_fn warn; /* called from any thread when a damaged file is renamed; or NULL */
	void *warn_ctx;
};

/* A label of a series. Both strings are UTF-8 by convention; nothing here depends on it. */
struct store_label {
	const char *name, *value;
};

/*
 * A profile to append. Everything is borrowed for the call. Locations should have symbols already,
 * because addresses are not stored.
 */
struct store_profile {
	const char *name;                 /* for example "process_cpu" */
	const struct store_label *labels; /* sorted by name, each name once */
	size_t n_labels;
	int64_t time_ns;    /* since 1970; decides the day */
	const char *id;     /* profiles with equal id, labels and id_time_ns count once; or NULL */
	int64_t id_time_ns; /* the time in the profile itself; 0 if it has none */
	const struct profile *profile;
};

/*
 * The parts of the profile type NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT. None is NULL; parts that a
 * profile does not have are "".
 */
struct store_type {
	const char *name, *type, *unit, *period_type, *period_unit;
};

/* The id of a span (len is 8) or of a trace (16), in the order of its hexadecimal digits. */
struct store_trace_id {
	uint8_t bytes[16]; /* zeros from @len on */
	uint8_t len;
};

/* The amounts that queries have read from a store. */
struct store_read {
	uint64_t n_series;  /* a series once for each UTC day */
	uint64_t n_windows; /* profiles, by sample type and label set */
	uint64_t n_nodes;   /* of merged stacks */
	uint64_t n_samples; /* individual samples with a time, except by store_samples() */
};

/*
 * Selects windows. The range includes both of its ends. Everything is borrowed for the call. Fields
 * that name an operation are ignored by all others. Matchers have scratch memory, so a selection
 * belongs to one thread.
 */
struct store_select {
	const char *tenant;
	const struct store_type *type;   /* NULL selects all types */
	struct matcher *const *matchers; /* all must match */
	size_t n_matchers;
	int64_t start_ns, end_ns;
	int64_t deadline_ns;          /* by CLOCK_MONOTONIC, then -ETIMEDOUT; 0 for none */
	const atomic_bool *cancelled; /* set by another thread: then -ECANCELED; or NULL */
	const char *const *ids;       /* store_merge(): only profiles with one of these ids */
	size_t n_ids;                 /* 0 selects profiles with any id or none */
	const struct store_trace_id *traced; /* store_merge(): only samples of these */
	size_t n_traced;                     /* 0 selects samples with any id or none */
	size_t max_nodes;             /* limit of store_merge(), which fails with -EFBIG; 0: none */
	bool names_only;              /* store_merge(): frames with equal names become one frame */
	const char *const *call_site; /* store_points(): only stacks that begin with these names */
	size_t n_call_site;           /* counted from the root; 0 selects all stacks */
	struct store_read *read;      /* to which every operation adds what it reads; or NULL */
};

/*
 * Must the query end? Returns 0, or -ETIMEDOUT or -ECANCELED with the reason in @err. Kinds of
 * stores call it every few milliseconds of a query.
 */
int store_select_check(const struct store_select *sel, struct err *err);

/* The time is in nanoseconds since 1970, the value in the unit of the sample type. */
struct store_point {
	int64_t time_ns, value;
};

/*
 * Callbacks of queries. A negative return value stops the query, which then returns it. Labels
 * are sorted by name; pointers are valid during the call only.
 */
typedef int (*store_series_fn)(void *ctx, const struct store_label *labels, size_t n);
typedef int (*store_point_fn)(void *ctx, const struct store_point *point);

/* A window with its total, and the times of its samples (ascending; n is 0 if unknown). */
typedef int (*store_sample_times_fn)(void *ctx, const struct store_point *window,
				     const int64_t *times_ns, size_t n);

struct store_stats {
	bool has_data;
	int64_t oldest_ns, newest_ns; /* times of the first and the last window; 0 without data */
};

struct store_usage {
	uint64_t bytes; /* on disk, for all tenants */
	uint32_t n_days;
};

/*
 * The operations of a kind of store. store_X() below documents and calls the member X. Each member
 * has the contract of its function, including who owns the result; no member is NULL.
 */
struct store_ops {
	int (*append)(struct store *s, const char *tenant, const struct store_profile *profiles,
		      size_t n, struct err *err);
	int (*merge)(struct store *s, const struct store_select *sel, struct merged_stacks **out,
		     struct err *err);
	int (*series)(struct store *s, const struct store_select *sel, store_series_fn fn,
		      void *ctx, struct err *err);
	int (*points)(struct store *s, const struct store_select *sel, store_series_fn series,
		      store_point_fn point, void *ctx, struct err *err);
	int (*sample_times)(struct store *s, const struct store_select *sel,
			    store_sample_times_fn fn, void *ctx, struct err *err);
	int (*samples)(struct store *s, const struct store_select *sel, int64_t before_ns,
		       struct timed_samples *out, struct err *err);
	int (*stats)(struct store *s, const char *tenant, struct store_stats *out, struct err *err);
	int (*usage)(struct store *s, struct store_usage *out, struct err *err);
	int (*days)(struct store *s, const char *tenant, store_usage_fn fn, void *ctx,
		    struct err *err);
	int (*roll_up)(struct store *s, int64_t before_ns, struct err *err);
	int (*first_day)(struct store *s, int64_t *day, struct err *err);
	int (*retain)(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		      struct err *err);
	int (*check)(struct store *s, struct err *err);
	void (*shrink)(struct store *s); /* or NULL */
	uint64_t (*stamp)(struct store *s, const char *tenant, int64_t start_ns,
			  int64_t end_ns); /* or NULL */
	void (*close)(struct store *s);
};

/* Embedded as the first member of each implementation. */
struct store {
	const struct store_ops *ops;
};

/* Days since 1970 of a time in nanoseconds since 1970; -1 before 1970. */
static inline int64_t store_day_of(int64_t time_ns)
{
	return time_ns < 0 ? -1 : time_ns / STORE_DAY_NS;
}

/*
 * True for 1 to STORE_TENANT_MAX letters, digits and characters of "-_.", not only dots. The
 * characters are safe in paths and in SQL; names that consist of dots only would be other
 * directories. Operations that make a path of the name check it again; ClickHouse's queries quote
 * it.
 */
bool store_tenant_valid(const char *tenant);

/* Frees @s, which may be NULL. No other call may be in progress. */
void store_close(struct store *s);

DEFINE_FREEP(struct store, store_close)

/**
 * store_append() - store profiles durably
 *
 * All profiles are stored or none; after a crash those of several UTC days may be stored in part,
 * and appending them again stores the others. Once it returns 0 they survive a crash and every
 * later query sees them. A profile with an id that was appended before (struct store_profile) is
 * skipped. A profile without samples is accepted, but not stored.
 *
 * Return: 0; -EINVAL for an invalid tenant, a time before 1970, or too many labels
 * (SERIES_MAX_LABELS) or sample types (BLOCK_MAX_TYPES); -ENOBUFS when the names and stacks of a
 * day take too much memory (then profiles without new ones are still stored); -ENOSPC when the disk
 * is full; -errno. After an error the same profiles may be appended again.
 */
int store_append(struct store *s, const char *tenant, const struct store_profile *profiles,
		 size_t n, struct err *err);

/*
 * Returns 0, or -EFBIG if a sum of values in @s may not fit into 64 bits: no sum of nodes exceeds
 * that of their values without signs.
 */
int store_check_stacks(const struct merged_stacks *s, struct err *err);

/**
 * store_merge() - sum all selected windows by stack
 *
 * Totals equal the sums of what was appended, whatever the grouping. The range, the matchers, ids,
 * traced and names_only apply. With traced, windows of more than TRACED_MAX samples are missed
 * (traced.h); ClickHouse returns -ENOSYS.
 *
 * Return: 0 and new stacks in *@out, empty if nothing is selected, to be freed with
 * merged_stacks_free(); -EFBIG beyond sel->max_nodes, or if a sum does not fit into 64 bits;
 * -errno.
 */
int store_merge(struct store *s, const struct store_select *sel, struct merged_stacks **out,
		struct err *err);

/*
 * Calls @fn for each series with at least one selected window, in no particular order. A series may
 * be reported once for each UTC day of the range. The type may be NULL. Labels include the derived
 * ones.
 */
int store_series(struct store *s, const struct store_select *sel, store_series_fn fn, void *ctx,
		 struct err *err);

/*
 * Calls @series for each selected series, then @point for each of its windows in ascending order
 * of time, with the window's total or, with a call site, the sum of the stacks below it. A series
 * may be reported once for each UTC day of the range, earlier days first, and without any point.
 */
int store_points(struct store *s, const struct store_select *sel, store_series_fn series,
		 store_point_fn point, void *ctx, struct err *err);

/* Calls @fn for each selected window, in no particular order. sel->type must be set. */
int store_sample_times(struct store *s, const struct store_select *sel, store_sample_times_fn fn,
		       void *ctx, struct err *err);

/*
 * Adds the individual samples in the range to @out, which is empty but for its filter (pid, tid).
 * Windows that begin up to @before_ns before the range are searched too. sel->type must be set. The
 * caller checks the sums (store_check_stacks()). Returns 0, -EFBIG beyond TIMED_SAMPLES_MAX, or
 * -errno; free @out in either case.
 */
int store_samples(struct store *s, const struct store_select *sel, int64_t before_ns,
		  struct timed_samples *out, struct err *err);

/*
 * The range of times that a tenant's data covers. A tenant without data is not an error: has_data
 * is false. ClickHouse reads the times of all windows for it; SQLite opens every day.
 */
int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err);

/*
 * Is the store able to store and to answer now? Returns 0; -ENOSPC if the disk is nearly full;
 * -errno with the reason. It changes nothing. It may wait as long as a database does.
 */
int store_check(struct store *s, struct err *err);

/*
 * How much disk space all tenants use together. SQLite counts allocated blocks and the write-ahead
 * logs, ClickHouse what it reports for active parts.
 */
int store_usage(struct store *s, struct store_usage *out, struct err *err);

/* Calls @fn for each day of @tenant, or of all tenants if it is NULL, oldest day first. */
int store_days(struct store *s, const char *tenant, store_usage_fn fn, void *ctx, struct err *err);

/*
 * A number that changes whenever the files of the days in a range do, also when another program
 * changes or removes them; never 0. Stores that other processes may extend have none. A range
 * without data has a stamp as well. Any thread.
 */
bool store_has_stamp(const struct store *s);
uint64_t store_stamp(struct store *s, const char *tenant, int64_t start_ns, int64_t end_ns);

/*
 * Frees memory that can be read again from disk. Call it when memory is short, from any thread; the
 * next operations take longer.
 */
void store_shrink(struct store *s);

/*
 * Precomputes sums of windows before @before_ns to which nothing was added since the last call, so
 * that queries over long ranges read less. Results stay the same. Call it from one thread at a
 * time. A failure leaves the sums that were stored before it. A store may do nothing.
 */
int store_roll_up(struct store *s, int64_t before_ns, struct err *err);

/*
 * Finds the first day of all tenants, in days since 1970. Returns 1, 0 if the store has none, or
 * -errno.
 */
int store_first_day(struct store *s, int64_t *day, struct err *err);

/*
 * Drops whole days: those that ended before @oldest_ns, then the oldest ones until at most
 * @max_bytes remain. 0 means no limit. The day of @now_ns and later ones are never dropped.
 * Returns the number of days dropped (for SQLite, of day files), or -errno.
 */
int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err);
