/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/tasks/task_groups.c */
#include "base/strtab.h"
#include "lang/tasks/task_snapshot.h"
#include "profile/profile.h"
#include "tasks/task_ages.h"
#include "tasks/task_findings.h"
#include "tasks/task_groups.h"
#include "tasks/task_growth.h"
#include "tasks/task_profile.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000000 };

static struct task_snapshot s;

static int setup(void **state)
{
	int r = task_snapshot_init(&s);

	(void)state;
	s.totals.time_ns = 100ULL * SECOND;
	return r;
}

static int teardown(void **state)
{
	(void)state;
	task_snapshot_fini(&s);
	return 0;
}

static uint32_t stack_of(const char *function, bool is_library)
{
	struct task_frame frames[2] = { { .line = 3, .is_library = is_library }, { .line = 9 } };
	uint32_t ids[2], stack;

	assert_int_equal(task_snapshot_string(&s, function, strlen(function), &frames[0].function),
			 0);
	assert_int_equal(task_snapshot_string(&s, "main", 4, &frames[1].function), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(task_snapshot_frame(&s, &frames[i], &ids[i]), 0);
	assert_int_equal(task_snapshot_stack(&s, ids, 2, &stack), 0);
	return stack;
}

static struct task *add(uint64_t id, const char *function, uint64_t since_s)
{
	const struct task t = {
		.id = id,
		.place = id * 7,
		.stack = stack_of(function, false),
		.state = TASK_WAITING,
		.wake = TASK_WAKE_TASK,
		.since_ns = since_s * SECOND,
	};

	assert_int_equal(vec_push(&s.tasks, t), 0);
	return &s.tasks.data[s.tasks.len - 1];
}

static void equal_stacks_are_one_group(void **state)
{
	struct task_groups groups = { 0 };
	struct task_sums sums;

	add(1, "a", 0);
	add(2, "b", 90);
	add(3, "b", 40);
	add(4, "c", 0)->flags = TASK_SYSTEM;
	assert_int_equal(task_groups_build(&s, &groups), 0);
	assert_int_equal(groups.len, 3);
	assert_int_equal(groups.data[0].count, 2);
	assert_true(groups.data[0].longest_ns == 60ULL * SECOND);
	assert_true(groups.data[0].total_ns == 70ULL * SECOND);
	assert_int_equal(groups.data[1].n_timed, 0);
	assert_true(groups.data[2].is_system);
	task_sums_build(&s, &sums);
	assert_int_equal(sums.tasks, 3);
	assert_int_equal(sums.system, 1);
	vec_fini(&groups);
}

static void counts_of_a_sample_are_scaled(void **state)
{
	struct task_groups groups = { 0 };

	add(1, "a", 0);
	s.totals.one_in = 5;
	assert_int_equal(task_groups_build(&s, &groups), 0);
	assert_int_equal(groups.data[0].count, 5);
	assert_int_equal(groups.data[0].n_seen, 1);
	vec_fini(&groups);
}

static void the_place_is_outside_of_the_library(void **state)
{
	const struct task_group g = { .stack = stack_of("runtime.park", true) };

	assert_string_equal(strtab_get(s.strings, task_group_place(&s, &g)->function), "main");
}

static void times_that_are_not_recorded_count_from_the_first_sight(void **state)
{
	struct task_ages ages = { 0 };

	add(1, "a", 0);
	add(2, "a", 50);
	assert_int_equal(task_ages_apply(&ages, &s), 0);
	assert_int_equal(s.tasks.data[0].since_ns, 0);
	s.totals.time_ns += 10ULL * SECOND;
	assert_int_equal(task_ages_apply(&ages, &s), 0);
	assert_true(task_wait_ns(&s, &s.tasks.data[0]) == 10ULL * SECOND);
	assert_true(task_wait_ns(&s, &s.tasks.data[1]) == 60ULL * SECOND);
	task_ages_fini(&ages);
}

static void a_circle_is_found_once(void **state)
{
	struct task_findings f = { 0 };

	add(1, "a", 0)->waits_for = 2; /* leads into the circle */
	add(2, "a", 0)->waits_for = 3;
	add(3, "a", 0)->waits_for = 4;
	add(4, "a", 0)->waits_for = 2;
	add(5, "a", 0)->waits_for = 99; /* no such task */
	add(6, "a", 0)->waits_for = 6;
	assert_int_equal(task_findings_build(&s, &f), 0);
	assert_int_equal(f.circles.len, 2);
	assert_int_equal(f.circles.data[0].n, 3);
	assert_int_equal(f.circles.data[1].n, 1);
	task_findings_fini(&f);
}

static void nobody_can_run_only_if_all_wait_for_tasks(void **state)
{
	struct task_findings f = { 0 };

	add(1, "a", 0);
	add(2, "a", 0)->flags = TASK_SYSTEM;
	s.tasks.data[1].state = TASK_RUNNABLE;
	assert_int_equal(task_findings_build(&s, &f), 0);
	assert_true(f.all_wait);
	s.totals.n_unread = 1;
	assert_int_equal(task_findings_build(&s, &f), 0);
	assert_false(f.all_wait);
	s.totals.n_unread = 0;
	s.tasks.data[0].wake = TASK_WAKE_EVENT;
	assert_int_equal(task_findings_build(&s, &f), 0);
	assert_false(f.all_wait);
	task_findings_fini(&f);
}

/* With a list instead of a table for each, this would take hours. */
static void a_process_chooses_all_ids_and_places(void **state)
{
	struct task_findings f = { 0 };
	struct task_ages ages = { 0 };
	struct task t = { .id = 5, .place = 7, .state = TASK_WAITING, .waits_for = 5 };

	t.stack = stack_of("a", false);
	for (uint32_t i = 0; i < TASKS_MAX + 100; i++)
		assert_int_equal(task_snapshot_add(&s, &t), 0);
	assert_int_equal(s.tasks.len, TASKS_MAX);
	assert_int_equal(s.totals.n_unread, 100);
	assert_int_equal(task_findings_build(&s, &f), 0);
	assert_int_equal(f.circles.len, 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(task_ages_apply(&ages, &s), 0);
	assert_int_equal(ages.all.len, 1);
	task_findings_fini(&f);
	task_ages_fini(&ages);
}

static void growth_counts_from_the_first_snapshot(void **state)
{
	enum { N = 200000 };
	struct task_growth growth = { 0 };
	struct task_groups groups = { 0 };
	int64_t *by;

	/* the last two have one key, of which the first counts */
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(
			vec_push(&groups,
				 (struct task_group){ .key = i < N - 1 ? i : i - 1, .count = i }),
			0);
	assert_int_equal(task_growth_begin(&growth, &groups), 0);
	for (uint32_t i = 0; i < N; i++)
		groups.data[i].count += i;
	groups.data[0] = (struct task_group){ .key = N + 1, .count = 3 };
	by = task_growth_of(&growth, &groups);
	assert_non_null(by);
	assert_int_equal(by[0], 3);
	for (uint32_t i = 1; i < N - 1; i++)
		assert_int_equal(by[i], i);
	assert_int_equal(by[N - 1], N);
	free(by);
	vec_fini(&groups);
	task_growth_fini(&growth);
}

static void a_profile_has_counts_and_times(void **state)
{
	struct profile *p;
	struct profile_sample sample;

	add(1, "a", 90);
	add(2, "a", 80);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(task_profile_add(p, &s), 0);
	assert_int_equal(profile_n_samples(p), 1);
	sample = profile_sample(p, 0);
	assert_int_equal(sample.values[0], 2);
	assert_true(sample.values[1] == 30LL * SECOND);
	assert_int_equal(sample.n_labels, 2);
	profile_free(p);
}

#define TASKS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_tasks, TASKS_TEST(equal_stacks_are_one_group),
	   TASKS_TEST(counts_of_a_sample_are_scaled),
	   TASKS_TEST(the_place_is_outside_of_the_library),
	   TASKS_TEST(times_that_are_not_recorded_count_from_the_first_sight),
	   TASKS_TEST(a_circle_is_found_once),
	   TASKS_TEST(nobody_can_run_only_if_all_wait_for_tasks),
	   TASKS_TEST(a_process_chooses_all_ids_and_places),
	   cmocka_unit_test(growth_counts_from_the_first_snapshot),
	   TASKS_TEST(a_profile_has_counts_and_times))
