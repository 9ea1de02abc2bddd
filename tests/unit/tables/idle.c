/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/idle.h"

#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tables/top.h"
#include "tests/test.h"

/* Returns the sum of @stacks after idle waits were excluded. */
static int64_t retained_of(const char *stacks)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded(stacks), *left = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	struct idle_sum sum;

	assert_int_equal(profile_convert_sample_type(p, 0, "off_cpu", "nanoseconds", 1), 0);
	assert_int_equal(idle_exclude(&left, p, &sum), 0);
	assert_int_equal(top_build(&t, left, &(struct top_options){ 0 }), 0);
	assert_true(sum.has_waits);
	assert_int_equal(sum.all, sum.hidden + top_sum(t));
	return top_sum(t);
}

static void waits_in_a_listed_function_are_excluded(void **state)
{
	assert_int_equal(
		retained_of("main;worker;pthread_cond_wait@@GLIBC_2.3.2;futex_wait 40\n"
			    "main;poll 5\nmain;do_sigtimedwait.isra.0 4\nmain;do_epoll_wait 30\n"
			    "java.util.concurrent.ThreadPoolExecutor.getTask;park 9\n"
			    "GangWorker::loop();PosixSemaphore::wait();futex_wait 8\n"),
		0);
}

static void waits_for_locks_and_disks_are_not_idle(void **state)
{
	assert_int_equal(
		retained_of("main;lock;__lll_lock_wait;futex_wait 10\n"
			    "main;save;fsync;io_schedule 20\npollute 1\n"
			    "work;ObjectMonitor::enter(JavaThread*);pthread_cond_timedwait 7\n"
			    "eval;take_gil;pthread_cond_timedwait 2\n"
			    "a.ReentrantLock.lock;park;pthread_cond_wait 4\n"),
		44);
}

static void frames_of_wakers_are_not_of_the_wait(void **state)
{
	assert_int_equal(retained_of("main;read;pipe_read;[woken by a/b];main;pthread_cond_wait 4\n"
				     "main;poll;schedule;[woken by a];main;write 8\n"),
			 4);
}

static void kernel_threads_are_idle_in_their_own_loop(void **state)
{
	assert_int_equal(retained_of("kthread;worker_thread;schedule 50\n"
				     "kthread;worker_thread;process_one_work;schedule 6\n"),
			 6);
}

static void a_name_may_be_very_long(void **state)
{
	char text[4096];

	memset(text, 'x', sizeof(text));
	memcpy(text + sizeof(text) - 4, " 3\n", 4);
	assert_int_equal(retained_of(text), 3);
}

static void a_comment_reports_the_excluded_time(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded("poll 3\nread 1\n");
	_cleanup_(profile_freep) struct profile *left = NULL;
	struct idle_sum sum;

	assert_int_equal(profile_convert_sample_type(p, 0, "off_cpu", "nanoseconds", 1), 0);
	assert_int_equal(idle_exclude(&left, p, &sum), 0);
	assert_int_equal(profile_n_comments(left), profile_n_comments(p) + 1);
	assert_string_equal(
		profile_string(left, profile_comment(left, profile_n_comments(left) - 1)),
		"idle waits are excluded: 75.0 % of off-CPU time");
}

static void a_profile_without_waits_is_copied(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded("main;poll 5\n"), *left = NULL;
	struct idle_sum sum;

	assert_int_equal(idle_exclude(&left, p, &sum), 0);
	assert_false(sum.has_waits);
	assert_int_equal(profile_n_samples(left), 1);
}

/* In a profile with CPU time, a listed function may run. */
static void a_running_thread_is_not_idle(void **state)
{
	static const int64_t values[2][2] = { { 5, 0 }, { 0, 7 } };
	_cleanup_(profile_freep) struct profile *p = NULL, *left = NULL;
	struct profile_line line = { 0 };
	struct profile_function f = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE, .n_lines = 1, .lines = &line };
	struct profile_sample s = { 0 };
	struct idle_sum sum;
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_sample_type(p, "off_cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_string(p, "poll", 4, &f.name), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	assert_int_equal(profile_add_stack(p, &id, 1, &s.stack), 0);
	for (int i = 0; i < 2; i++) {
		struct profile_label label = { .key = f.name, .num = i };

		s.n_labels = 1;
		s.labels = &label;
		s.values = values[i];
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	assert_int_equal(idle_exclude(&left, p, &sum), 0);
	assert_int_equal(sum.hidden, 7);
	assert_int_equal(profile_n_samples(left), 1);
	assert_int_equal(profile_sample(left, 0).values[0], 5);
}

TEST_GROUP(test_idle, TEST(waits_in_a_listed_function_are_excluded),
	   TEST(waits_for_locks_and_disks_are_not_idle), TEST(frames_of_wakers_are_not_of_the_wait),
	   TEST(kernel_threads_are_idle_in_their_own_loop), TEST(a_name_may_be_very_long),
	   TEST(a_comment_reports_the_excluded_time), TEST(a_profile_without_waits_is_copied),
	   TEST(a_running_thread_is_not_idle))
