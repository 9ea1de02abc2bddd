/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of stores, and what is ClickHouse's own, against a model of the database.
 * tests/server/clickhouse.py runs the contract against real releases.
 */
#include "store/clickhouse/clickhouse_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "fake_clickhouse.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/store.h"
#include "tests/test.h"

int test_conformance(void);

struct scene {
	struct fake_clickhouse *fake;
	struct store *store;
};

static int open_store(struct scene *s, int64_t keep_ns, struct err *err)
{
	_cleanup_(freep) char *url = fake_clickhouse_url(s->fake, "/cameo");
	const struct store_options opt = { .url = url, .keep_ns = keep_ns };

	return clickhouse_store_open(&s->store, &opt, err);
}

static void begin(struct scene *s)
{
	*s = (struct scene){ .fake = fake_clickhouse_new() };
	assert_int_equal(open_store(s, 0, NULL), 0);
}

static void end(struct scene *s)
{
	store_close(s->store);
	fake_clickhouse_free(s->fake);
}

static void tables_have_codecs_and_an_expiry_in_new_releases(void **state)
{
	struct scene s = { .fake = fake_clickhouse_new() };

	assert_int_equal(open_store(&s, 7 * STORE_DAY_NS, NULL), 0);
	assert_int_equal(fake_clickhouse_count(s.fake, "CREATE DATABASE IF NOT EXISTS cameo"), 1);
	assert_int_equal(fake_clickhouse_count(s.fake, "CREATE TABLE IF NOT EXISTS "), 4);
	assert_int_equal(fake_clickhouse_count(s.fake, "MODIFY TTL day + toIntervalDay(8)"), 4);
	assert_non_null(strstr(fake_clickhouse_last(s.fake, "CREATE TABLE IF NOT EXISTS"),
			       "time Int64 CODEC(Delta, ZSTD), key FixedString(16)"));
	assert_non_null(strstr(fake_clickhouse_last(s.fake, "CREATE TABLE IF NOT EXISTS"),
			       "PARTITION BY day ORDER BY (tenant, series, time, key)"));
	end(&s);
}

static void spans_are_not_indexed(void **state)
{
	const struct store_type type = { "process_cpu", "cpu", "nanoseconds", "cpu",
					 "nanoseconds" };
	const struct store_trace_id id = { { 1 }, 8 };
	const struct store_select sel = { .tenant = "anonymous",
					  .type = &type,
					  .end_ns = INT64_MAX,
					  .traced = &id,
					  .n_traced = 1 };
	struct merged_stacks *st = NULL;
	struct err err = { 0 };
	struct scene s;

	begin(&s);
	assert_int_equal(store_merge(s.store, &sel, &st, &err), -ENOSYS);
	assert_non_null(strstr(err.msg, "spans"));
	assert_null(st);
	end(&s);
}

static void tables_of_old_releases_have_neither(void **state)
{
	struct scene s = { .fake = fake_clickhouse_new() };

	fake_clickhouse_fail(s.fake, "version()", 200,
			     "\x07"
			     "19.17.6",
			     0);
	assert_int_equal(open_store(&s, 7 * STORE_DAY_NS, NULL), 0);
	assert_int_equal(fake_clickhouse_count(s.fake, "CODEC"), 0);
	assert_int_equal(fake_clickhouse_count(s.fake, "TTL"), 0);
	end(&s);
}

static void a_server_of_another_kind_is_refused(void **state)
{
	static const char *const texts[] = { "", "<html>", "\x7f", "\xff\xff\xff\xff\xff" };
	struct scene s = { .fake = fake_clickhouse_new() };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err err = { 0 };

		fake_clickhouse_fail(s.fake, "version()", 200, texts[i], 0);
		assert_int_equal(open_store(&s, 0, &err), -EIO);
		assert_non_null(strstr(err.msg, "did not respond like a ClickHouse server"));
		assert_null(s.store);
	}
	fake_clickhouse_free(s.fake);
}

static void a_database_that_cannot_be_made_is_an_error(void **state)
{
	static const char *const parts[] = { "CREATE DATABASE", "version()", "cameo_stacks" };
	struct scene s = { .fake = fake_clickhouse_new() };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct err err = { 0 };

		fake_clickhouse_fail(s.fake, parts[i], 403, "Code: 497. Not enough privileges", 0);
		assert_int_equal(open_store(&s, 0, &err), -EIO);
		assert_non_null(strstr(err.msg, "Not enough privileges"));
	}
	fake_clickhouse_free(s.fake);
}

/* Appends one window of this tenant. */
static int append(struct scene *s, const char *tenant, const char *instance, int64_t time_ns)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;f 1\n");
	const struct store_label label = { "instance", instance };
	const struct store_profile sp = { .name = "process_cpu",
					  .labels = &label,
					  .n_labels = 1,
					  .time_ns = time_ns,
					  .profile = p };

	return store_append(s->store, tenant, &sp, 1, NULL);
}

static int add_day(void *ctx, const struct store_usage_day *day)
{
	struct store_usage_day *sum = ctx;

	assert_true(day->start_ns >= sum->start_ns);
	sum->start_ns = day->start_ns;
	sum->n_windows += day->n_windows;
	sum->n_series += day->n_series;
	sum->bytes += day->bytes;
	sum->parts[STORE_USAGE_BLOCKS] += day->parts[STORE_USAGE_BLOCKS];
	return 0;
}

static void sizes_of_a_day_are_divided_by_windows(void **state)
{
	struct store_usage_day one = { 0 }, all = { 0 };
	struct store_usage usage;
	struct scene s;

	begin(&s);
	for (int i = 0; i < 3; i++)
		assert_int_equal(append(&s, "one", i ? "a" : "b", NOON + i), 0);
	assert_int_equal(append(&s, "two", "a", NOON), 0);
	assert_int_equal(append(&s, "two", "a", NOON + DAY), 0);
	assert_int_equal(store_days(s.store, "one", add_day, &one, NULL), 0);
	assert_int_equal(store_days(s.store, NULL, add_day, &all, NULL), 0);
	assert_int_equal(one.n_windows, 3);
	assert_int_equal(one.n_series, 2);
	/* The model's rows have 100 bytes each. */
	assert_int_equal(one.parts[STORE_USAGE_BLOCKS], 300);
	assert_int_equal(all.n_windows, 5);
	assert_int_equal(all.parts[STORE_USAGE_BLOCKS], 500);
	assert_int_equal(all.start_ns, (NOON + DAY) / DAY * DAY);
	assert_int_equal(store_usage(s.store, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 2);
	assert_in_range(all.bytes, usage.bytes - 8, usage.bytes);
	end(&s);
}

static void rows_that_are_malformed_are_refused(void **state)
{
	static const char *const parts[] = { "min(time)", "system.parts", "uniqExact" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct store_usage_day sum = { 0 };
		struct store_stats stats;
		struct store_usage usage;
		struct scene s;

		begin(&s);
		assert_int_equal(append(&s, "a", "a", NOON), 0);
		for (size_t len = 1; len < 24; len++) {
			struct err err = { 0 };
			int r;

			fake_clickhouse_truncate(s.fake, parts[i], len);
			if (i == 0)
				r = store_stats(s.store, "a", &stats, &err);
			else if (i == 1)
				r = store_usage(s.store, &usage, &err);
			else
				r = store_days(s.store, "a", add_day, &sum, &err);
			assert_int_equal(r, -EIO);
			assert_string_equal(err.msg, "ClickHouse returned malformed rows");
		}
		end(&s);
	}
}

static void a_day_that_cannot_be_dropped_is_an_error(void **state)
{
	struct scene s;

	begin(&s);
	for (int i = 0; i < 3; i++)
		assert_int_equal(append(&s, "a", "a", NOON - i * DAY), 0);
	fake_clickhouse_fail(s.fake, "ALTER TABLE cameo_windows DROP", 500, "Code: 5.", 1);
	assert_int_equal(store_retain(s.store, NOON - DAY, 0, NOON, NULL), -EIO);
	/* The next call drops the windows that remain. */
	assert_int_equal(store_retain(s.store, NOON - DAY, 0, NOON, NULL), 1);
	assert_int_equal(fake_clickhouse_rows(s.fake, "windows"), 2);
	assert_int_equal(fake_clickhouse_count(s.fake, "DROP PARTITION ID '20261119'"), 8);
	/* The current day is never dropped. */
	assert_int_equal(store_retain(s.store, NOON + 9 * DAY, 1, NOON, NULL), 1);
	assert_int_equal(fake_clickhouse_rows(s.fake, "windows"), 1);
	end(&s);
}

static void a_time_that_has_no_date_in_clickhouse_is_refused(void **state)
{
	struct scene s;

	begin(&s);
	assert_int_equal(append(&s, "a", "a", 65535 * DAY), 0);
	assert_int_equal(append(&s, "a", "a", 65536 * DAY), -EINVAL);
	assert_int_equal(append(&s, "a", "a", -1), -EINVAL);
	assert_int_equal(append(&s, "..", "a", NOON), -EINVAL);
	assert_int_equal(store_roll_up(s.store, INT64_MAX, NULL), 0);
	end(&s);
}

int test_clickhouse_store(void);

int test_clickhouse_store(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_have_codecs_and_an_expiry_in_new_releases),
		TEST(spans_are_not_indexed),
		TEST(tables_of_old_releases_have_neither),
		TEST(a_server_of_another_kind_is_refused),
		TEST(a_database_that_cannot_be_made_is_an_error),
		TEST(sizes_of_a_day_are_divided_by_windows),
		TEST(rows_that_are_malformed_are_refused),
		TEST(a_day_that_cannot_be_dropped_is_an_error),
		TEST(a_time_that_has_no_date_in_clickhouse_is_refused),
	};
	struct fake_clickhouse *fake = fake_clickhouse_new();
	char *url = fake_clickhouse_url(fake, "");
	int failed;

	setenv("CAMEO_TEST_STORE", url, 1);
	failed = test_conformance();
	unsetenv("CAMEO_TEST_STORE");
	free(url);
	fake_clickhouse_free(fake);
	return failed + TEST_RUN("clickhouse_store", tests, NULL, NULL);
}
