/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of store/store.h: every kind of store passes these tests. CAMEO_TEST_STORE selects
 * the kind (fixture.c).
 *
 * covers: src/store/store.c
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "store/matcher.h"
#include "store/store.h"
#include "store/timed_samples.h"
#include "tests/test.h"

#define MS 10000000LL

static void appended_profiles_are_found_after_reopening(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "main;serve 2\nmain;gc 1\n"),
			 0);
	assert_int_equal(fixture_append(s, "mail", "b", NOON, NULL, "main;send 7\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	assert_int_equal(fixture_total(s, "mail", 0, INT64_MAX), 7 * MS);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 1, NULL, "main;serve;x 4\n"), 0);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 14 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void a_range_includes_both_of_its_ends(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", NOON + 1, NOON + 3), 3 * MS);
	assert_int_equal(fixture_total(s, "shop", NOON + 5, NOON + 9), 0);
	store_close(s);
	fixture_remove(dir);
}

static void the_same_profile_with_the_same_id_counts_once(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 1 * MS);
	store_close(s);
	s = fixture_open(dir);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "b", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 3 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void totals_equal_what_was_appended(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	int64_t sums[4] = { 0 };
	unsigned int seed = 7;

	for (int i = 0; i < 60; i++) {
		char folded[4096] = "", service[2] = { (char)('a' + i % 4), 0 };
		int64_t time_ns = NOON - DAY + (int64_t)(rand_r(&seed) % 3) * DAY;
		size_t len = 0;

		for (int k = rand_r(&seed) % 20 + 1; k > 0; k--) {
			int n = rand_r(&seed) % 1000 + 1;

			len += (size_t)snprintf(folded + len, sizeof(folded) - len, "main");
			for (int depth = rand_r(&seed) % 6; depth > 0; depth--)
				len += (size_t)snprintf(folded + len, sizeof(folded) - len, ";f%d",
							rand_r(&seed) % 30);
			len += (size_t)snprintf(folded + len, sizeof(folded) - len, " %d\n", n);
			sums[i % 4] += n * MS;
		}
		assert_int_equal(fixture_append(s, service, "i", time_ns + i, NULL, folded), 0);
		if (i == 30) {
			store_close(s);
			s = fixture_open(dir);
		}
	}
	for (int i = 0; i < 4; i++) {
		char service[2] = { (char)('a' + i), 0 };

		assert_int_equal(fixture_total(s, service, 0, INT64_MAX), sums[i]);
	}
	store_close(s);
	fixture_remove(dir);
}

struct seen {
	char text[4096];
	int n;
};

static int see_series(void *ctx, const struct store_label *labels, size_t n)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, "__profile_type__") ||
		    !strcmp(labels[i].name, "instance"))
			len += (size_t)snprintf(seen->text + len, sizeof(seen->text) - len, "%s ",
						labels[i].value);
	seen->n++;
	return 0;
}

static int see_point(void *ctx, const struct store_point *p)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof(seen->text) - len, "%lld=%lld ",
		 (long long)(p->time_ns - NOON), (long long)p->value);
	return 0;
}

static void a_sample_type_is_a_series(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct matcher *m = NULL;
	struct store_select sel = { .tenant = "anonymous", .end_ns = INT64_MAX, .matchers = &m };
	struct seen seen = { 0 };

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "b", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(matcher_new(&m, MATCHER_RE, "instance", "b|c", NULL), 0);
	sel.n_matchers = 1;
	seen = (struct seen){ 0 };
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds b "
				       "process_cpu:cpu:nanoseconds:cpu:nanoseconds b ");
	sel.end_ns = NOON - 1;
	seen = (struct seen){ 0 };
	assert_int_equal(store_series(s, &sel, see_series, &seen, NULL), 0);
	assert_int_equal(seen.n, 0);
	matcher_free(m);
	store_close(s);
	fixture_remove(dir);
}

static void points_are_totals_or_sums_below_a_call_site(void **state)
{
	static const char *const site[] = { "main", "serve" };
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous", .type = &type, .end_ns = INT64_MAX };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct seen seen = { 0 };

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL,
					"main;serve 2\nmain;serve;x 3\nmain;gc 1\nserve 9\n"),
			 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 5, NULL, "main;serve;y 4\n"), 0);
	assert_int_equal(store_points(s, &sel, see_series, see_point, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds a 0=15 5=4 ");
	sel.call_site = site;
	sel.n_call_site = 2;
	seen = (struct seen){ 0 };
	assert_int_equal(store_points(s, &sel, see_series, see_point, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds a 0=5 5=4 ");
	store_close(s);
	fixture_remove(dir);
}

static void old_days_are_dropped_by_age_and_by_bytes(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct store_usage usage;
	int64_t first = 0;

	assert_int_equal(store_first_day(s, &first, NULL), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON - i * DAY, NULL, "f 1\n"), 0);
	assert_int_equal(store_first_day(s, &first, NULL), 1);
	assert_int_equal(first, store_day_of(NOON) - 4);
	assert_int_equal(store_retain(s, NOON - 3 * DAY, 0, NOON, NULL), 1);
	assert_int_equal(store_first_day(s, &first, NULL), 1);
	assert_int_equal(first, store_day_of(NOON) - 3);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 4 * MS);
	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 4);
	assert_int_equal(store_retain(s, 0, usage.bytes - 1, NOON, NULL), 1);
	assert_int_equal(store_retain(s, 0, 1, NOON, NULL), 2);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 1 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void refuses_what_it_cannot_store(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct store_label labels[70];
	char names[70][8];
	struct store_profile p = { .name = "x", .labels = labels, .n_labels = 70, .time_ns = NOON };
	struct profile *profile = fixture_profile("f 1\n");

	for (int i = 0; i < 70; i++) {
		snprintf(names[i], sizeof(names[i]), "l%02d", i);
		labels[i] = (struct store_label){ names[i], "v" };
	}
	p.profile = profile;
	assert_int_equal(store_append(s, "anonymous", &p, 1, NULL), -EINVAL);
	assert_int_equal(store_append(s, "../x", &p, 1, NULL), -EINVAL);
	assert_int_equal(fixture_append(s, "shop", "a", -5, NULL, "f 1\n"), -EINVAL);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 0);
	profile_free(profile);
	store_close(s);
	fixture_remove(dir);
}

static struct store_profile profile_of(const struct profile *p, int64_t time_ns)
{
	return (struct store_profile){ .name = "process_cpu", .time_ns = time_ns, .profile = p };
}

static int append_as(struct store *s, const char *tenant, int64_t time_ns, const char *folded)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile(folded);
	struct store_profile sp = profile_of(p, time_ns);

	return store_append(s, tenant, &sp, 1, NULL);
}

static void a_tenant_does_not_see_the_data_of_another(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct store_stats stats;

	assert_int_equal(append_as(s, "other", NOON, "f 1\n"), 0);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 0);
	assert_int_equal(store_stats(s, "anonymous", &stats, NULL), 0);
	assert_false(stats.has_data);
	assert_int_equal(store_stats(s, "other", &stats, NULL), 0);
	assert_true(stats.has_data);
	assert_int_equal(store_stats(s, "../x", &stats, NULL), -EINVAL);
	store_close(s);
	fixture_remove(dir);
}

static void profiles_of_a_day_are_stored_all_or_none(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("f 1\n");
	struct store_profile both[2] = { profile_of(p, NOON), profile_of(p, NOON + 1) };
	struct store_label labels[70];
	char names[70][8];
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 70; i++) {
		snprintf(names[i], sizeof(names[i]), "l%02d", i);
		labels[i] = (struct store_label){ names[i], "v" };
	}
	both[1].labels = labels;
	both[1].n_labels = 70;
	assert_int_equal(store_append(s, "anonymous", both, 2, NULL), -EINVAL);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 0);
	both[1].n_labels = 0;
	assert_int_equal(store_append(s, "anonymous", both, 2, NULL), 0);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), 2 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void a_profile_without_samples_stores_nothing(void **state)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct store_profile sp;
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct store_stats stats;

	assert_int_equal(profile_new(&p), 0);
	sp = profile_of(p, NOON);
	assert_int_equal(store_append(s, "anonymous", &sp, 1, NULL), 0);
	assert_int_equal(store_stats(s, "anonymous", &stats, NULL), 0);
	assert_false(stats.has_data);
	store_close(s);
	fixture_remove(dir);
}

static void a_merge_by_id_has_only_that_profile(void **state)
{
	static const char *const ids[] = { "id-2", "unknown" };
	struct store_read read = { 0 };
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous",
				    .type = &type,
				    .end_ns = INT64_MAX,
				    .ids = ids,
				    .n_ids = 2,
				    .read = &read };
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-1", "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, "id-2", "f 20\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 300\n"), 0);
	assert_int_equal(store_merge(s, &sel, &st, NULL), 0);
	assert_int_equal(st->total, 20);
	assert_int_equal(st->n_windows, 1);
	assert_int_equal(read.n_windows, 1);
	assert_int_equal(read.n_nodes, st->n);
	store_close(s);
	fixture_remove(dir);
}

static int stop_at_series(void *ctx, const struct store_label *labels, size_t n)
{
	++*(int *)ctx;
	return -ECANCELED;
}

static int stop_at_point(void *ctx, const struct store_point *p)
{
	return -ECANCELED;
}

static void a_callback_stops_a_query(void **state)
{
	struct store_select sel = { .tenant = "anonymous", .end_ns = INT64_MAX };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct seen seen = { 0 };
	int n = 0;

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "b", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(store_series(s, &sel, stop_at_series, &n, NULL), -ECANCELED);
	assert_int_equal(n, 1);
	assert_int_equal(store_points(s, &sel, see_series, stop_at_point, &seen, NULL), -ECANCELED);
	store_close(s);
	fixture_remove(dir);
}

static void points_come_in_the_order_of_time(void **state)
{
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous", .type = &type, .end_ns = INT64_MAX };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct seen seen = { 0 };

	assert_int_equal(fixture_append(s, "shop", "a", NOON + 9, NULL, "f 3\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 2, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 5, NULL, "f 2\n"), 0);
	assert_int_equal(store_points(s, &sel, see_series, see_point, &seen, NULL), 0);
	assert_string_equal(seen.text, "process_cpu:samples:count:cpu:nanoseconds a 2=1 5=2 9=3 ");
	store_close(s);
	fixture_remove(dir);
}

static void a_query_past_its_deadline_fails(void **state)
{
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = {
		.tenant = "anonymous", .type = &type, .end_ns = INT64_MAX, .deadline_ns = 1
	};
	struct merged_stacks *st = NULL;
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(store_merge(s, &sel, &st, NULL), -ETIMEDOUT);
	assert_null(st);
	store_close(s);
	fixture_remove(dir);
}

static void rollups_do_not_change_results(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < 60; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON + i * 60 * 1000000000LL, NULL,
						"main;f 2\nmain;g 1\n"),
				 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_roll_up(s, NOON + DAY, NULL), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 180 * MS);
	assert_int_equal(fixture_total(s, "shop", NOON + 5 * 60 * 1000000000LL, INT64_MAX),
			 165 * MS);
	assert_int_equal(fixture_append(s, "shop", "a", NOON + 1, NULL, "main;f 5\n"), 0);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 185 * MS);
	store_close(s);
	fixture_remove(dir);
}

static int count_day(void *ctx, const struct store_usage_day *day)
{
	int64_t *last = ctx;

	assert_true(day->start_ns > *last);
	assert_string_equal(day->tenant, "anonymous");
	assert_int_equal(day->n_windows, 1);
	*last = day->start_ns;
	return 0;
}

static void stats_and_usage_follow_what_is_stored(void **state)
{
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	int64_t last = -1;
	struct store_usage usage;
	struct store_stats stats;

	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON, NULL, "f 1\n"), 0);
	assert_int_equal(fixture_append(s, "shop", "a", NOON - DAY, NULL, "f 1\n"), 0);
	assert_int_equal(store_stats(s, "anonymous", &stats, NULL), 0);
	assert_true(stats.has_data);
	assert_int_equal(stats.oldest_ns, NOON - DAY);
	assert_int_equal(stats.newest_ns, NOON);
	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 2);
	assert_true(usage.bytes > 0);
	assert_int_equal(store_days(s, NULL, count_day, &last, NULL), 0);
	assert_int_equal(last, NOON / DAY * DAY);
	store_close(s);
	fixture_remove(dir);
}

/* A profile whose only stack has two samples, at 1 and 3 ms after @time_ns, of thread 7 of 5. */
static int append_timed(struct store *s, int64_t time_ns)
{
	_cleanup_(profile_freep) struct profile *p = fixture_profile("main;f 2\n");
	const uint64_t times[] = { (uint64_t)time_ns + 1000000, (uint64_t)time_ns + 3000000 };
	struct profile_sample old = profile_sample(p, 0);
	const int64_t values[] = { 2, 20000000 };
	struct profile_label labels[2] = { { .num = 5 }, { .num = 7 } };
	struct profile_sample timed = { .stack = old.stack,
					.values = values,
					.labels = labels,
					.n_labels = 2,
					.times = times,
					.n_times = 2 };
	struct store_profile sp = profile_of(p, time_ns);

	assert_int_equal(profile_add_string(p, "pid", 3, &labels[0].key), 0);
	assert_int_equal(profile_add_string(p, "tid", 3, &labels[1].key), 0);
	assert_int_equal(profile_add_sample(p, &timed), 0);
	return store_append(s, "anonymous", &sp, 1, NULL);
}

struct timed {
	int n_windows;
	size_t n_times;
	int64_t value, last_ns;
};

static int see_times(void *ctx, const struct store_point *window, const int64_t *times_ns, size_t n)
{
	struct timed *t = ctx;

	t->n_windows++;
	t->n_times += n;
	t->value += window->value;
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || times_ns[i] >= times_ns[i - 1]);
		t->last_ns = times_ns[i];
	}
	return 0;
}

static void samples_have_their_times_threads_and_stacks(void **state)
{
	const struct store_type type = { "process_cpu", "samples", "count", "cpu", "nanoseconds" };
	struct store_select sel = { .tenant = "anonymous", .type = &type, .end_ns = INT64_MAX };
	struct timed_samples all = { .pid = -1, .tid = -1 }, none = { .pid = 6, .tid = -1 };
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);
	struct timed timed = { 0 };

	assert_int_equal(append_timed(s, NOON), 0);
	assert_int_equal(store_sample_times(s, &sel, see_times, &timed, NULL), 0);
	assert_int_equal(timed.n_windows, 1);
	assert_int_equal(timed.n_times, 2);
	assert_int_equal(timed.value, 4);
	assert_int_equal(timed.last_ns, NOON + 3000000);
	sel.start_ns = NOON + 2000000;
	assert_int_equal(store_samples(s, &sel, DAY, &all, NULL), 0);
	assert_int_equal(all.all.len, 1);
	assert_int_equal(all.all.data[0].time_ns, NOON + 3000000);
	assert_int_equal(all.threads.data[all.all.data[0].thread].tid, 7);
	assert_int_equal(store_samples(s, &sel, DAY, &none, NULL), 0);
	assert_int_equal(none.all.len, 0);
	timed_samples_fini(&all);
	timed_samples_fini(&none);
	store_close(s);
	fixture_remove(dir);
}

enum { N_THREADS = 4, PER_THREAD = 10 };

static void *append_some(void *ctx)
{
	for (int i = 0; i < PER_THREAD; i++)
		assert_int_equal(append_as(ctx, "anonymous", NOON + i, "main;f 1\n"), 0);
	return NULL;
}

static void appends_of_several_threads_all_count(void **state)
{
	pthread_t threads[N_THREADS];
	char *dir = fixture_dir();
	struct store *s = fixture_open(dir);

	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_some, s), 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fixture_total(s, NULL, 0, INT64_MAX), N_THREADS * PER_THREAD * MS);
	store_close(s);
	fixture_remove(dir);
}

TEST_GROUP(test_conformance, TEST(appended_profiles_are_found_after_reopening),
	   TEST(a_range_includes_both_of_its_ends),
	   TEST(the_same_profile_with_the_same_id_counts_once),
	   TEST(totals_equal_what_was_appended), TEST(a_sample_type_is_a_series),
	   TEST(points_are_totals_or_sums_below_a_call_site),
	   TEST(old_days_are_dropped_by_age_and_by_bytes), TEST(refuses_what_it_cannot_store),
	   TEST(a_tenant_does_not_see_the_data_of_another),
	   TEST(profiles_of_a_day_are_stored_all_or_none),
	   TEST(a_profile_without_samples_stores_nothing),
	   TEST(a_merge_by_id_has_only_that_profile), TEST(a_callback_stops_a_query),
	   TEST(points_come_in_the_order_of_time), TEST(a_query_past_its_deadline_fails),
	   TEST(rollups_do_not_change_results), TEST(stats_and_usage_follow_what_is_stored),
	   TEST(samples_have_their_times_threads_and_stacks),
	   TEST(appends_of_several_threads_all_count))
