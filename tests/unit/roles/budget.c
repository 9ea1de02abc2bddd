/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/budget.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/stat.h"
#include "tests/test.h"

enum {
	NOBODY = 1 << 22, /* more than any pid */
	WALL_MS = 50,
	LONG_MS = 10000,
};

static const uint64_t HOUR_NS = 3600 * (uint64_t)CLOCK_SECOND_NS;

static void without_cpu_time_only_time_counts(void **state)
{
	const struct role_budget b = { .began_ns = 5, .wall_ms = 3600000 };

	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 7), 5 + HOUR_NS);
	assert_int_equal(role_budget_deadline_ns(&b, NOBODY, 5 + HOUR_NS), 5 + HOUR_NS);
	assert_int_equal(role_budget_deadline_ns(&b, NOBODY, 9 * HOUR_NS), 9 * HOUR_NS);
	assert_int_equal(role_budget_waited_ns(&b, NOBODY, 9 * HOUR_NS), 0);
}

static void cpu_time_may_end_before_time_does(void **state)
{
	struct role_budget b = { .wall_ms = 2 * 3600000, .cpu_ms = 3600000 };
	uint64_t used_ns = role_budget_cpu_ns(getpid());

	assert_true(used_ns > 0);
	b.began_cpu_ns = used_ns;
	assert_in_range(role_budget_deadline_ns(&b, getpid(), 7), HOUR_NS / 2, 7 + HOUR_NS);
	/* the child has an hour of CPU time left, which would end later */
	assert_int_equal(role_budget_deadline_ns(&b, NOBODY, HOUR_NS + 7), 2 * HOUR_NS);
}

static void used_cpu_time_is_the_end(void **state)
{
	struct role_budget b = { .wall_ms = 3600000, .cpu_ms = 1 };

	while (role_budget_cpu_ns(getpid()) < CLOCK_MS_NS)
		;
	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 7), 7);
	b.began_cpu_ns = role_budget_cpu_ns(getpid()) + HOUR_NS;
	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 7), 7 + CLOCK_MS_NS);
}

/* Returns a child that computes on @cpu; @is_idle: when nobody else does. */
static pid_t compute(int cpu, bool is_idle)
{
	const struct sched_param param = { 0 };
	pid_t pid = fork();
	cpu_set_t one;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || sched_setaffinity(0, sizeof(one), &one) < 0 ||
	    (is_idle && sched_setscheduler(0, SCHED_IDLE, &param) < 0))
		_exit(1);
	for (;;)
		;
}

static void end(pid_t pid)
{
	assert_return_code(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A program with all of the CPU's time keeps the child from it for several times its limit. */
static void waiting_for_a_cpu_is_not_the_child_s_fault(void **state)
{
	int cpu = sched_getcpu();
	pid_t other = compute(cpu, false), child = compute(cpu, true);
	struct role_budget b = { 0 };
	uint64_t now_ns;

	role_budget_begin(&b, child, WALL_MS, LONG_MS);
	usleep(3 * WALL_MS * 1000);
	now_ns = clock_monotonic_ns();
	assert_true(role_budget_deadline_ns(&b, child, now_ns) > now_ns);
	while (!role_budget_waited_ns(&b, child, clock_monotonic_ns()))
		usleep(1000);
	now_ns = clock_monotonic_ns();
	assert_in_range(role_budget_waited_ns(&b, child, now_ns), 1, now_ns - b.began_ns);
	end(other);
	end(child);
}

/* The waits before a child sleeps are added to its limit, and the sleep is not. */
static void sleeping_is_the_child_s_fault(void **state)
{
	int cpu = sched_getcpu();
	pid_t other = compute(cpu, false), child = compute(cpu, true);
	struct role_budget b = { 0 };
	uint64_t end_ns, next_ns;

	role_budget_begin(&b, child, LONG_MS, 0);
	do
		usleep(1000);
	while (proc_cpu_wait_ns(child) <= b.began_wait_ns);
	assert_return_code(kill(child, SIGSTOP), 0);
	end(other);
	while (proc_is_runnable(child))
		usleep(1000);
	end_ns = b.began_ns + LONG_MS * (uint64_t)CLOCK_MS_NS;
	next_ns = role_budget_deadline_ns(&b, child, end_ns);
	assert_true(next_ns > end_ns);
	/* it may wait for a CPU once more on its way to sleep */
	do
		end_ns = next_ns;
	while ((next_ns = role_budget_deadline_ns(&b, child, end_ns)) > end_ns);
	/* all but the waits has counted */
	assert_in_range(end_ns - b.began_ns - role_budget_waited_ns(&b, child, end_ns), 1,
			LONG_MS * (uint64_t)CLOCK_MS_NS + CLOCK_MS_NS);
	end(child);
}

/* A budget that begins soon after another does not read the waits again, a later one does. */
static void waits_are_read_once_in_a_tenth_of_a_second(void **state)
{
	struct role_budget b = { 0 };
	uint64_t read_ns;

	role_budget_begin(&b, getpid(), LONG_MS, 0);
	read_ns = b.wait_read_ns;
	assert_int_equal(read_ns, b.began_ns);
	do
		role_budget_begin(&b, getpid(), LONG_MS, 0);
	while (b.wait_read_ns == read_ns);
	assert_true(b.wait_read_ns - read_ns >= CLOCK_SECOND_NS / 10);
	assert_int_equal(b.wait_read_ns, b.began_ns);
}

static void a_child_that_is_gone_uses_no_cpu_time(void **state)
{
	assert_int_equal(role_budget_cpu_ns(NOBODY), 0);
}

TEST_GROUP(test_budget, TEST(without_cpu_time_only_time_counts),
	   TEST(cpu_time_may_end_before_time_does), TEST(used_cpu_time_is_the_end),
	   TEST(waiting_for_a_cpu_is_not_the_child_s_fault), TEST(sleeping_is_the_child_s_fault),
	   TEST(waits_are_read_once_in_a_tenth_of_a_second),
	   TEST(a_child_that_is_gone_uses_no_cpu_time))
