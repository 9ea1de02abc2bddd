/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that need a store: timelines, labels, export. */
#include <errno.h>
#include <string.h>

#include "../store/fixture.h"
#include "base/err.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "query/export.h"
#include "query/label_set.h"
#include "query/timeline.h"
#include "query/value_heat_map.h"
#include "store/store.h"
#include "tests/short_heap.h"
#include "tests/test.h"

static const struct store_type samples = { "process_cpu", "samples", "count", "cpu",
					   "nanoseconds" };
#define SECOND 1000000000LL

struct world {
	char *dir;
	struct store *store;
};

static struct world open_world(void)
{
	struct world w = { .dir = fixture_dir() };

	w.store = fixture_open(w.dir);
	assert_int_equal(fixture_append(w.store, "shop", "a", NOON, NULL, "main;serve 11\n"), 0);
	assert_int_equal(
		fixture_append(w.store, "shop", "b", NOON + 15 * SECOND, NULL, "main;serve 10\n"),
		0);
	return w;
}

static void close_world(struct world *w)
{
	store_close(w->store);
	fixture_remove(w->dir);
}

static struct store_select all(void)
{
	return (struct store_select){ .tenant = "anonymous",
				      .type = &samples,
				      .start_ns = NOON - SECOND,
				      .end_ns = NOON + 30 * SECOND };
}

static void a_window_counts_at_the_end_of_its_step(void **state)
{
	struct world w = open_world();
	const struct store_select sel = all();
	const struct timeline_options opt = { .step_ms = 15000 };
	struct timeline t = { 0 };

	assert_int_equal(timeline_build(&t, w.store, &sel, &opt, NULL), 0);
	assert_int_equal(t.len, 1);
	assert_int_equal(t.data[0].points[0].n, 0);
	assert_int_equal(t.data[0].points[1].sum, 11);
	assert_int_equal(t.data[0].points[2].sum, 10);
	timeline_fini(&t);
	close_world(&w);
}

static void the_greatest_group_is_first_and_the_last_step_is_complete(void **state)
{
	static const char *const by[] = { "instance" };
	struct world w = open_world();
	const struct store_select sel = all();
	const struct timeline_options opt = {
		.step_ms = 100000, .group_by = by, .n_group_by = 1, .limit = 1
	};
	struct timeline t = { 0 };

	assert_int_equal(timeline_build(&t, w.store, &sel, &opt, NULL), 0);
	assert_int_equal(t.len, 1);
	assert_string_equal(timeline_label(&t, &t.data[0], 0), "a");
	assert_int_equal(t.data[0].points[1].sum, 11);
	timeline_fini(&t);
	close_world(&w);
}

static void refuses_more_steps_than_the_limit(void **state)
{
	struct world w = open_world();
	const struct store_select sel = all();
	const struct timeline_options opt = { .step_ms = 1 };
	struct timeline t = { 0 };

	assert_int_equal(timeline_build(&t, w.store, &sel, &opt, NULL), -EINVAL);
	close_world(&w);
}

/* Totals of groups have one step for the whole range, which may be all times. */
static void a_step_of_all_times_does_not_overflow(void **state)
{
	struct world w = open_world();
	struct store_select sel = all();
	struct timeline_options opt = { 0 };
	struct timeline t = { 0 };

	sel.start_ns = 1000000;
	sel.end_ns = 9223372036853999999;
	opt.step_ms = (sel.end_ns - sel.start_ns) / 1000000 + 1;
	assert_int_equal(timeline_build(&t, w.store, &sel, &opt, NULL), 0);
	assert_int_equal(t.data[0].points[1].sum, 21);
	timeline_fini(&t);
	close_world(&w);
}

struct one_query {
	struct world w;
	struct store_select sel;
};

static int run_timeline(void *ctx)
{
	const struct timeline_options opt = { .step_ms = 15000 };
	struct one_query *q = ctx;
	struct timeline t = { 0 };
	int r = timeline_build(&t, q->w.store, &q->sel, &opt, NULL);

	timeline_fini(&t);
	return r;
}

static int run_merge(void *ctx)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *st = NULL;
	struct one_query *q = ctx;

	return store_merge(q->w.store, &q->sel, &st, NULL);
}

static int run_heat_map(void *ctx)
{
	const struct value_heat_map_options opt = { .step_ms = 1 };
	struct one_query *q = ctx;
	struct value_heat_map h = { 0 };
	int r = value_heat_map_build(&h, q->w.store, &q->sel, &opt, NULL);

	value_heat_map_fini(&h);
	return r;
}

static int run_names(void *ctx)
{
	struct one_query *q = ctx;
	struct label_set s = { 0 };
	int r = label_set_query_names(&s, q->w.store, &q->sel, NULL);

	label_set_fini(&s);
	return r;
}

/* Whichever allocation of a query fails, it ends with that error, and the next one succeeds. */
static void each_allocation_of_a_query_may_fail(void **state)
{
	int (*const all_queries[])(void *) = { run_timeline, run_merge, run_heat_map, run_names };
	struct one_query q = { open_world(), all() };

	for (size_t i = 0; i < sizeof(all_queries) / sizeof(all_queries[0]); i++) {
		size_t n = 0;
		int r;

		while ((r = short_heap_run(n, all_queries[i], &q)) == -ENOMEM)
			n++;
		assert_int_equal(r, 0);
		assert_true(n >= 3);
		assert_int_equal(all_queries[i](&q), 0);
	}
	close_world(&q.w);
}

static void names_values_and_series_are_sorted_sets(void **state)
{
	static const char *const names[] = { "service_name", "instance" };
	struct world w = open_world();
	struct store_select sel = all();
	struct label_set s = { 0 };

	assert_int_equal(label_set_query_values(&s, w.store, &sel, "instance", NULL), 0);
	assert_int_equal(s.len, 2);
	assert_string_equal(s.data[0], "a");
	assert_string_equal(s.data[1], "b");
	label_set_fini(&s);
	s = (struct label_set){ 0 };
	assert_int_equal(label_set_query_names(&s, w.store, &sel, NULL), 0);
	assert_int_equal(s.len, 9);
	assert_string_equal(s.data[0], "__name__");
	assert_string_equal(s.data[8], "service_name");
	label_set_fini(&s);
	s = (struct label_set){ 0 };
	assert_int_equal(label_set_query_series(&s, w.store, &sel, names, 2, NULL), 0);
	assert_int_equal(s.len, 2);
	assert_memory_equal(s.data[1], "instance\0b\0service_name\0shop\0", 30);
	label_set_fini(&s);
	close_world(&w);
}

static void a_merged_profile_has_all_values_and_the_period(void **state)
{
	struct world w = open_world();
	struct store_select sel = all();
	struct merged_stacks *st = NULL;
	struct profile *p = NULL;

	assert_int_equal(store_merge(w.store, &sel, &st, NULL), 0);
	assert_int_equal(export_profile(&p, st, &samples, NOON, NULL), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_int_equal(profile_sample(p, 0).values[0], 21);
	assert_int_equal(profile_meta(p)->period, 10000000);
	assert_int_equal(profile_meta(p)->duration_ns, 30 * SECOND);
	profile_free(p);
	merged_stacks_free(st);
	close_world(&w);
}

TEST_GROUP(test_queries, TEST(a_window_counts_at_the_end_of_its_step),
	   TEST(the_greatest_group_is_first_and_the_last_step_is_complete),
	   TEST(refuses_more_steps_than_the_limit), TEST(a_step_of_all_times_does_not_overflow),
	   TEST(each_allocation_of_a_query_may_fail), TEST(names_values_and_series_are_sorted_sets),
	   TEST(a_merged_profile_has_all_values_and_the_period))
