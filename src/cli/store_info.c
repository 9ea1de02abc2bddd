/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per day and tenant, in the order of the store, and one for the sum. Sizes are in KiB,
 * and the parts of a day (store/usage.h) are columns of their own.
 */
#include "cli/store_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "store/kinds/store_open.h"
#include "store/store.h"

/* The totals. A series that occurs on several days is counted on each of them. */
struct sums {
	struct store_usage_day all;
	unsigned int n_days;
};

/* The totals of all days are printed by this function too, with "all" instead of a date. */
static void print_day(const char *day, const struct store_usage_day *d)
{
	printf("%-10s %-16s %10.1f %9" PRIu64 " %9" PRIu64, day, d->tenant, (double)d->bytes / 1024,
	       d->n_series, d->n_windows);
	for (int i = 0; i < STORE_USAGE_PARTS; i++)
		printf(" %9.1f", (double)d->parts[i] / 1024);
	if (d->damage)
		printf(" cannot be read: %s", d->damage);
	putchar('\n');
}

static int on_day(void *ctx, const struct store_usage_day *d)
{
	time_t t = (time_t)(d->start_ns / CLOCK_SECOND_NS);
	struct sums *s = ctx;
	char day[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	print_day(day, d);
	s->n_days++;
	s->all.bytes += d->bytes;
	s->all.n_series += d->n_series;
	s->all.n_windows += d->n_windows;
	for (int i = 0; i < STORE_USAGE_PARTS; i++)
		s->all.parts[i] += d->parts[i];
	return 0;
}

/* A directory is read without opening the store, so a server may have it open meanwhile. */
static int each_day(const char *dir, const char *url, struct sums *s, struct err *err)
{
	const struct store_options opt = { .url = url };
	_cleanup_(store_closep) struct store *store = NULL;
	int r;

	if (!url)
		return store_directory_usage(dir, on_day, s, err);
	r = store_open(&store, &opt, err);
	return r < 0 ? r : store_days(store, NULL, on_day, s, err);
}

/* The days before a failure are printed nevertheless, because the table is for people. */
int store_info_print(const char *dir, const char *url)
{
	struct sums s = { .all.tenant = "" };
	struct err err = { 0 };

	printf("%-10s %-16s %10s %9s %9s", "day", "tenant", "KiB", "series", "profiles");
	for (int i = 0; i < STORE_USAGE_PARTS; i++)
		printf(" %9s", store_usage_part_label(i));
	putchar('\n');
	if (each_day(dir, url, &s, &err) < 0)
		return cli_fail("%s", err.msg);
	print_day("all", &s.all);
	if (s.all.n_windows)
		printf("%u day%s, %.1f KiB per profile\n", s.n_days, s.n_days == 1 ? "" : "s",
		       (double)s.all.bytes / 1024 / (double)s.all.n_windows);
	return 0;
}
