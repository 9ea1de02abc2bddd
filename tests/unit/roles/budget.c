/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/budget.h"

#include <unistd.h>

#include "base/clock.h"
#include "tests/test.h"

enum { NOBODY = 1 << 22 }; /* more than any pid */

static const uint64_t HOUR_NS = 3600 * (uint64_t)CLOCK_SECOND_NS;

static void without_cpu_time_only_time_counts(void **state)
{
	const struct role_budget b = { .began_ns = 5, .wall_ms = 3600000 };

	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 7), 5 + HOUR_NS);
	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 5 + HOUR_NS), 5 + HOUR_NS);
	assert_int_equal(role_budget_deadline_ns(&b, getpid(), 9 * HOUR_NS), 9 * HOUR_NS);
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

static void a_child_that_is_gone_uses_no_cpu_time(void **state)
{
	assert_int_equal(role_budget_cpu_ns(NOBODY), 0);
}

TEST_GROUP(test_budget, TEST(without_cpu_time_only_time_counts),
	   TEST(cpu_time_may_end_before_time_does), TEST(used_cpu_time_is_the_end),
	   TEST(a_child_that_is_gone_uses_no_cpu_time))
