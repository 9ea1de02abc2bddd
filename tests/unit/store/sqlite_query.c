/* SPDX-License-Identifier: Apache-2.0 */
/* Each query is called for a store that is written and for one that is only read. */
#include "store/sqlite/sqlite_query.h"

#include <errno.h>
#include <stdlib.h>

#include "fixture.h"
#include "flame/merged_stacks.h"
#include "store/kinds/store_open.h"
#include "tests/test.h"

enum { DAYS = 3 };

static int count_day(void *ctx, const struct store_usage_day *day)
{
	(*(int *)ctx)++;
	return 0;
}

static int count_series(void *ctx, const struct store_label *labels, size_t n)
{
	(*(int *)ctx)++;
	return 0;
}

static void check_queries(struct store *s)
{
	struct store_select sel = { .tenant = "anonymous", .end_ns = INT64_MAX };
	struct merged_stacks *none = NULL;
	struct store_stats stats;
	struct store_usage usage;
	int n_days = 0, n_series = 0;

	assert_int_equal(store_stats(s, "anonymous", &stats, NULL), 0);
	assert_true(stats.has_data);
	assert_int_equal(stats.oldest_ns, NOON);
	assert_int_equal(stats.newest_ns, NOON + (DAYS - 1) * DAY);
	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, DAYS);
	assert_int_equal(store_days(s, NULL, count_day, &n_days, NULL), 0);
	assert_int_equal(n_days, DAYS);
	assert_int_equal(store_series(s, &sel, count_series, &n_series, NULL), 0);
	assert_int_equal(n_series, 2 * DAYS); /* of two types */
	sel.start_ns = NOON + DAY;
	sel.end_ns = NOON + DAY + 1;
	n_series = 0;
	assert_int_equal(store_series(s, &sel, count_series, &n_series, NULL), 0);
	assert_int_equal(n_series, 2);
	assert_int_equal(fixture_total(s, NULL, NOON, NOON + DAY), 2 * 10000000);
	sel.tenant = "../anonymous";
	assert_int_equal(store_merge(s, &sel, &none, NULL), -EINVAL);
	assert_null(none);
}

static void both_kinds_of_store_have_the_same_queries(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	const struct store_options copy = { .dir = dir, .read_only = true };

	for (int i = 0; i < DAYS; i++)
		assert_int_equal(fixture_append(s, "shop", "1", NOON + i * DAY, NULL, "main 1\n"),
				 0);
	check_queries(s);
	store_close(s);
	assert_int_equal(store_open(&s, &copy, NULL), 0);
	check_queries(s);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_sqlite_query, TEST(both_kinds_of_store_have_the_same_queries))
