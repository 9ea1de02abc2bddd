/* SPDX-License-Identifier: Apache-2.0 */
#include "query/idle.h"

#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"
#include "profile/profile.h"
#include "query/top.h"
#include "tests/test.h"

/* What @stacks add up to when they are waits, and idle ones are left out. */
static int64_t left_of(const char *stacks)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded(stacks), *left = NULL;
	_cleanup_(top_freep) struct top *t = NULL;
	struct idle_sum sum;

	assert_int_equal(profile_retype(p, 0, "off_cpu", "nanoseconds", 1), 0);
	assert_int_equal(idle_leave_out(&left, p, &sum), 0);
	assert_int_equal(top_build(&t, left, &(struct top_options){ 0 }), 0);
	assert_true(sum.has_waits);
	assert_int_equal(sum.all, sum.hidden + top_sum(t));
	return top_sum(t);
}

static void waits_in_a_function_of_the_list_are_left_out(void **state)
{
	assert_int_equal(
		left_of("main;worker;pthread_cond_wait@@GLIBC_2.3.2;futex_wait 40\n"
			"main;poll 5\nmain;do_sigtimedwait.isra.0 4\nmain;do_epoll_wait 30\n"
			"java.util.concurrent.ThreadPoolExecutor.getTask;park 9\n"
			"GangWorker::loop();PosixSemaphore::wait();futex_wait 8\n"),
		0);
}

static void locks_and_disks_are_no_idle_waits(void **state)
{
	assert_int_equal(left_of("main;lock;__lll_lock_wait;futex_wait 10\n"
				 "main;save;fsync;io_schedule 20\npollute 1\n"
				 "work;ObjectMonitor::enter(JavaThread*);pthread_cond_timedwait 7\n"
				 "eval;take_gil;pthread_cond_timedwait 2\n"
				 "a.ReentrantLock.lock;park;pthread_cond_wait 4\n"),
			 44);
}

static void threads_of_the_kernel_are_idle_in_their_own_loop(void **state)
{
	assert_int_equal(left_of("kthread;worker_thread;schedule 50\n"
				 "kthread;worker_thread;process_one_work;schedule 6\n"),
			 6);
}

static void a_name_may_be_very_long(void **state)
{
	char text[4096];

	memset(text, 'x', sizeof(text));
	memcpy(text + sizeof(text) - 4, " 3\n", 4);
	assert_int_equal(left_of(text), 3);
}

static void the_profile_says_what_was_left_out(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded("poll 3\nread 1\n");
	_cleanup_(profile_freep) struct profile *left = NULL;
	struct idle_sum sum;

	assert_int_equal(profile_retype(p, 0, "off_cpu", "nanoseconds", 1), 0);
	assert_int_equal(idle_leave_out(&left, p, &sum), 0);
	assert_int_equal(profile_n_comments(left), profile_n_comments(p) + 1);
	assert_string_equal(
		profile_string(left, profile_comment(left, profile_n_comments(left) - 1)),
		"idle waits are left out: 75.0 % of the time off the CPU");
}

static void without_waits_nothing_is_left_out(void **state)
{
	_cleanup_(profile_freep) struct profile *p = fixture_folded("main;poll 5\n"), *left = NULL;
	struct idle_sum sum;

	assert_int_equal(idle_leave_out(&left, p, &sum), 0);
	assert_false(sum.has_waits);
	assert_int_equal(profile_n_samples(left), 1);
}

/* In a profile of both, a function of the list may run. */
static void what_runs_is_not_idle(void **state)
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
	assert_int_equal(idle_leave_out(&left, p, &sum), 0);
	assert_int_equal(sum.hidden, 7);
	assert_int_equal(profile_n_samples(left), 1);
	assert_int_equal(profile_sample(left, 0).values[0], 5);
}

TEST_GROUP(test_idle, TEST(waits_in_a_function_of_the_list_are_left_out),
	   TEST(locks_and_disks_are_no_idle_waits),
	   TEST(threads_of_the_kernel_are_idle_in_their_own_loop), TEST(a_name_may_be_very_long),
	   TEST(the_profile_says_what_was_left_out), TEST(without_waits_nothing_is_left_out),
	   TEST(what_runs_is_not_idle))
