/* SPDX-License-Identifier: Apache-2.0 */
/* What any kind of store does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/matcher.h"
#include "store/store.h"
#include "tests/test.h"

#define MS 10000000LL

static void what_is_appended_is_found_again_after_reopening(void **state)
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

static void both_ends_of_a_range_are_in_it(void **state)
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

static void points_are_totals_or_those_of_a_call_site(void **state)
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

	for (int i = 0; i < 5; i++)
		assert_int_equal(fixture_append(s, "shop", "a", NOON - i * DAY, NULL, "f 1\n"), 0);
	assert_int_equal(store_retain(s, NOON - 3 * DAY, 0, NOON, NULL), 1);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 4 * MS);
	assert_int_equal(store_usage(s, &usage, NULL), 0);
	assert_int_equal(usage.n_days, 4);
	assert_int_equal(store_retain(s, 0, usage.bytes - 1, NOON, NULL), 1);
	assert_int_equal(store_retain(s, 0, 1, NOON, NULL), 2);
	assert_int_equal(fixture_total(s, "shop", 0, INT64_MAX), 1 * MS);
	store_close(s);
	fixture_remove(dir);
}

static void refuses_what_it_cannot_keep(void **state)
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

TEST_GROUP(test_any, TEST(what_is_appended_is_found_again_after_reopening),
	   TEST(both_ends_of_a_range_are_in_it),
	   TEST(the_same_profile_with_the_same_id_counts_once),
	   TEST(totals_equal_what_was_appended), TEST(a_sample_type_is_a_series),
	   TEST(points_are_totals_or_those_of_a_call_site),
	   TEST(old_days_are_dropped_by_age_and_by_bytes), TEST(refuses_what_it_cannot_keep))
