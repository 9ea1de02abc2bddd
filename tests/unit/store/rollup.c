/* SPDX-License-Identifier: Apache-2.0 */
/* Rollups next to windows leave results unchanged for any range, also after later windows. */
#include "store/sqlite/rollup.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "flame/merged_stacks.h"
#include "store/matcher.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "tests/test.h"

#define MINUTE 60000000000LL
#define MS     10000000LL

enum { N_MAX = 400 };

struct appended {
	int64_t time_ns[N_MAX], value[N_MAX];
	int n;
};

static void append(struct store *s, struct appended *all, int64_t time_ns, unsigned int *seed)
{
	int a = rand_r(seed) % 9 + 1, b = rand_r(seed) % 5;
	char folded[200];

	snprintf(folded, sizeof(folded), "main;f%d %d\nmain;g %d\nmain;h%d 1\n", a, a, b, all->n);
	assert_int_equal(fixture_append(s, "shop", all->n % 3 ? "a" : "b", time_ns, NULL, folded),
			 0);
	all->time_ns[all->n] = time_ns;
	all->value[all->n++] = a + b + 1;
}

static void assert_range(struct store *s, const struct appended *all, int64_t start, int64_t end)
{
	int64_t want = 0;

	for (int i = 0; i < all->n; i++)
		if (all->time_ns[i] >= start && all->time_ns[i] <= end)
			want += all->value[i];
	assert_int_equal(fixture_total(s, "shop", start, end), want * MS);
}

static void assert_ranges(struct store *s, const struct appended *all)
{
	unsigned int seed = 5;

	assert_range(s, all, 0, INT64_MAX);
	assert_range(s, all, NOON, NOON + 600 * MINUTE);
	assert_range(s, all, NOON + 120 * MINUTE, NOON + 240 * MINUTE - 1);
	assert_range(s, all, NOON + 120 * MINUTE, NOON + 240 * MINUTE);
	for (int i = 0; i < 60; i++) {
		int64_t start = NOON + rand_r(&seed) % 400 * MINUTE;

		assert_range(s, all, start, start + rand_r(&seed) % 300 * MINUTE);
	}
}

static int count_rollups(const char *dir)
{
	char pattern[4096];
	struct sqlite3 *db = NULL;
	glob_t found;
	int64_t n = 0;

	snprintf(pattern, sizeof(pattern), "%s/*/*.db", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(db_open(&db, found.gl_pathv[0], DB_READ, NULL), 0);
	assert_int_equal(db_number(db, "SELECT count(*) FROM sums", &n, NULL), 0);
	db_close(db);
	globfree(&found);
	return (int)n;
}

/* Runs twice, because the first run skips slots with new windows. */
static void roll_up_before(struct store *s, int64_t before_ns)
{
	assert_int_equal(store_roll_up(s, before_ns, NULL), 0);
	assert_int_equal(store_roll_up(s, before_ns, NULL), 0);
}

/* Packs what is packed, too, which leaves the sums of two hours (day_pack.h). */
static void roll_up(struct store *s)
{
	roll_up_before(s, INT64_MAX);
}

static void results_are_the_same_with_rollups(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct appended all = { .n = 0 };
	unsigned int seed = 3;
	int n;

	for (int i = 0; i < 300; i++)
		append(s, &all, NOON + i * MINUTE + rand_r(&seed) % 3 * MINUTE, &seed);
	assert_ranges(s, &all);
	roll_up_before(s, NOON + 179 * MINUTE);
	n = count_rollups(dir);
	assert_in_range(n, 30, 40);
	assert_ranges(s, &all);
	append(s, &all, NOON + 70 * MINUTE, &seed);
	assert_int_equal(count_rollups(dir), n - 2);
	assert_ranges(s, &all);
	roll_up_before(s, NOON + 179 * MINUTE);
	assert_int_equal(count_rollups(dir), n);
	assert_ranges(s, &all);
	roll_up(s);
	assert_int_equal(count_rollups(dir), 6);
	assert_ranges(s, &all);
	store_close(s);
	s = fixture_open(dir);
	assert_ranges(s, &all);
	store_close(s);
	fixture_remove(dir);
}

static void duration_and_count_of_windows_are_preserved(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	const struct store_type type = { "process_cpu", "cpu", "nanoseconds", "cpu",
					 "nanoseconds" };
	const struct store_select sel = { .tenant = "anonymous",
					  .type = &type,
					  .end_ns = INT64_MAX };
	struct merged_stacks *before, *after;

	for (int i = 0; i < 40; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i * MINUTE, NULL, "f 1\n"),
				 0);
	assert_int_equal(store_merge(s, &sel, &before, NULL), 0);
	roll_up(s);
	assert_int_equal(store_merge(s, &sel, &after, NULL), 0);
	assert_int_equal(after->total, before->total);
	assert_int_equal(after->n_windows, before->n_windows);
	assert_int_equal(after->duration_ns, before->duration_ns);
	assert_int_equal(after->period, before->period);
	merged_stacks_free(before);
	merged_stacks_free(after);
	store_close(s);
	fixture_remove(dir);
}

static void a_slot_that_has_not_ended_gets_no_rollup(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i * MINUTE, NULL, "f 1\n"),
				 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(store_roll_up(s, NOON + 9 * MINUTE, NULL), 0);
	assert_int_equal(count_rollups(dir), 0);
	assert_int_equal(store_roll_up(s, NOON + 10 * MINUTE, NULL), 0);
	assert_int_equal(count_rollups(dir), 1);
	store_close(s);
	fixture_remove(dir);
}

/* Windows of an earlier process are found although this one has not appended them. */
static void windows_of_an_earlier_process_get_rollups(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 30; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i * MINUTE, NULL, "f 1\n"),
				 0);
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 30 * MS); /* opens the day */
	roll_up_before(s, NOON + 179 * MINUTE);
	assert_int_equal(count_rollups(dir), 4);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 30 * MS);
	store_close(s);
	fixture_remove(dir);
}

/* More slots than share a transaction. */
static void many_series_get_rollups_at_once(void **state)
{
	char *dir = fixture_dir(), pod[16];
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 100; i++) {
		snprintf(pod, sizeof(pod), "p%d", i / 2);
		assert_int_equal(
			fixture_append(s, "shop", pod, NOON + i % 2 * MINUTE, NULL, "f 1\n"), 0);
	}
	roll_up(s);
	assert_int_equal(count_rollups(dir), 100);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 100 * MS);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_rollup, TEST(results_are_the_same_with_rollups),
	   TEST(windows_of_an_earlier_process_get_rollups), TEST(many_series_get_rollups_at_once),
	   TEST(duration_and_count_of_windows_are_preserved),
	   TEST(a_slot_that_has_not_ended_gets_no_rollup))
