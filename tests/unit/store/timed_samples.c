/* SPDX-License-Identifier: Apache-2.0 */
#include "store/timed_samples.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/store.h"
#include "tests/test.h"

static void begin(struct timed_samples *m, int64_t pid, int64_t tid)
{
	*m = (struct timed_samples){ .pid = pid, .tid = tid };
	assert_int_equal(merged_stacks_new(&m->stacks), 0);
}

/* A window of two rows and five samples of three threads; the third has no tid. */
static const int64_t times[] = { 10, 20, 30, 40, 50 };
static const uint32_t nodes[] = { 7, 9 };
static const int64_t values[] = { 10, 6 };
static struct sample_thread threads[] = { { 1, 11 }, { 1, 12 }, { 0, 0 } };
static struct sample_owner whose[] = { { 0, 0 }, { 1, 0 }, { 0, 0 }, { 2, 1 }, { 0, 1 } };

static int add(struct timed_samples *m, const char *name, int64_t start_ns, int64_t end_ns)
{
	const struct timed_samples_series series = { 5, name, "app" };
	struct sample_owners owners = { 0 };
	const struct timed_samples_window w = { times, &owners, nodes, values, 2 };

	owners.threads.data = threads;
	owners.threads.len = 3;
	owners.whose.data = whose;
	owners.whose.len = 5;
	return timed_samples_add(m, &series, &w, start_ns, end_ns);
}

static const char *thread_name(const struct timed_samples *m, size_t i)
{
	return stack_dict_string(m->stacks->dict, m->threads.data[i].name);
}

static void a_row_is_divided_evenly_among_its_samples(void **state)
{
	static const int64_t want[] = { 3, 3, 4, 3, 3 };
	_cleanup_(timed_samples_fini) struct timed_samples m;

	begin(&m, -1, -1);
	assert_int_equal(add(&m, "main", 0, 100), 0);
	assert_int_equal(m.all.len, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(m.all.data[i].time_ns, times[i]);
		assert_int_equal(m.all.data[i].value, want[i]);
		assert_int_equal(m.all.data[i].node, nodes[whose[i].row]);
	}
	assert_int_equal(m.threads.len, 3);
	assert_int_equal(m.threads.data[0].tid, 11);
	/* the series gives the pid of a sample that has none */
	assert_int_equal(m.threads.data[2].pid, 5);
	assert_string_equal(thread_name(&m, 0), "main");
}

/* Samples outside of the range take their share too, so the other shares do not depend on it. */
static void only_samples_of_the_range_are_added(void **state)
{
	_cleanup_(timed_samples_fini) struct timed_samples m;

	begin(&m, -1, -1);
	assert_int_equal(add(&m, "main", 20, 40), 0);
	assert_int_equal(m.all.len, 3);
	assert_int_equal(m.all.data[0].time_ns, 20);
	assert_int_equal(m.all.data[0].value, 3);
	assert_int_equal(m.all.data[1].value, 4);
	assert_int_equal(m.all.data[2].time_ns, 40);
}

static void a_filter_selects_threads(void **state)
{
	static const struct {
		int64_t pid, tid;
		size_t n;
	} cases[] = { { 1, -1, 4 }, { 1, 11, 3 }, { -1, 12, 1 }, { 5, -1, 1 }, { 2, -1, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(timed_samples_fini) struct timed_samples m;

		begin(&m, cases[i].pid, cases[i].tid);
		assert_int_equal(add(&m, "main", 0, 100), 0);
		assert_int_equal(m.all.len, cases[i].n);
	}
}

/* A thread with a tid may be renamed; those without one are distinguished by name. */
static void a_thread_has_the_latest_of_its_names(void **state)
{
	_cleanup_(timed_samples_fini) struct timed_samples m;

	begin(&m, -1, -1);
	assert_int_equal(add(&m, "parent", 0, 20), 0);
	assert_int_equal(add(&m, "child", 30, 50), 0);
	assert_int_equal(add(&m, "late", 0, 20), 0);
	assert_string_equal(thread_name(&m, 0), "child");
	assert_int_equal(m.threads.data[0].named_ns, 50);
	assert_string_equal(thread_name(&m, 1), "late");
	/* the sample at 40 is that of the thread without a tid */
	assert_int_equal(m.all.data[3].time_ns, 40);
	assert_string_equal(thread_name(&m, m.all.data[3].thread), "child");
	assert_int_equal(m.threads.data[m.all.data[3].thread].pid, 5);
}

static void nodes_are_replaced_from_an_index_on(void **state)
{
	_cleanup_(timed_samples_fini) struct timed_samples m;
	uint32_t map[10] = { 0 };

	map[7] = 70;
	map[9] = 90;
	begin(&m, -1, -1);
	assert_int_equal(add(&m, "main", 0, 100), 0);
	timed_samples_map_nodes(&m, 3, map);
	assert_int_equal(m.all.data[2].node, 7);
	assert_int_equal(m.all.data[3].node, 90);
	assert_int_equal(m.all.data[4].node, 90);
}

static void there_is_a_limit_of_samples(void **state)
{
	_cleanup_(timed_samples_fini) struct timed_samples m;
	int r = 0;

	begin(&m, -1, -1);
	while (r == 0)
		r = add(&m, "main", 0, 100);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(m.all.len, TIMED_SAMPLES_MAX);
}

static void labels_of_cameo_and_of_opentelemetry_name_a_thread(void **state)
{
	static const struct store_label own[] = { { "comm", "app" },
						  { "pid", "12" },
						  { "thread", "main" } };
	static const struct store_label other[] = { { "process.executable.name", "app" },
						    { "process.pid", "12" },
						    { "thread.name", "main" } };
	const struct store_label *const cases[] = { own, other };
	struct timed_samples_series s;

	for (size_t i = 0; i < 2; i++) {
		s = timed_samples_series_of(cases[i], 3);
		assert_int_equal(s.pid, 12);
		assert_string_equal(s.name, "main");
		assert_string_equal(s.process, "app");
	}
	s = timed_samples_series_of(NULL, 0);
	assert_int_equal(s.pid, 0);
	assert_string_equal(s.name, "");
}

TEST_GROUP(test_timed_samples, TEST(a_row_is_divided_evenly_among_its_samples),
	   TEST(only_samples_of_the_range_are_added), TEST(a_filter_selects_threads),
	   TEST(a_thread_has_the_latest_of_its_names), TEST(nodes_are_replaced_from_an_index_on),
	   TEST(there_is_a_limit_of_samples),
	   TEST(labels_of_cameo_and_of_opentelemetry_name_a_thread))
