/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/selector.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

/* Decides about this process by one rule; with @ended, about one that has ended. */
static int decide(const char *rule, bool ended, struct selection *out)
{
	const struct selector_opts opts = { .rules = &rule, .n_rules = 1, .root = "/" };
	struct process p = { .pid = (uint32_t)getpid(), .end_ns = ended, .comm = "own" };
	struct process_rules rules;
	struct selector *s;
	int r;

	assert_int_equal(selector_new(&s, &opts, NULL), 0);
	rules = selector_rules(s);
	*out = (struct selection){ 0 };
	r = rules.select(rules.ctx, &p, "/known", out);
	selector_free(s);
	return r;
}

static void reads_the_attributes_of_a_process(void **state)
{
	struct selection s;
	char rule[64];

	snprintf(rule, sizeof(rule), "exclude uid=%u comm=own exe=*/test-agent", geteuid());
	assert_int_equal(decide(rule, false, &s), 0);
	assert_int_equal(s.flags, SELECT_EXCLUDED | SELECT_UNTIL_EXEC);
	assert_int_equal(decide("exclude cgroup=/*", false, &s), 0);
	assert_int_equal(s.flags, SELECT_EXCLUDED);
	assert_int_equal(decide("include container=none", false, &s), 0);
	assert_int_equal(s.flags, SELECT_EXCLUDED);
	assert_int_equal(s.rule, SELECT_NO_RULE);
}

static void an_ended_process_is_judged_by_what_is_known(void **state)
{
	struct selection s;

	assert_int_equal(decide("exclude exe=/known comm=own", true, &s), 0);
	assert_int_equal(s.flags, SELECT_EXCLUDED | SELECT_UNTIL_EXEC);
	assert_int_equal(decide("exclude uid=0", true, &s), -ESRCH);
	assert_int_equal(decide("exclude cgroup=/*", true, &s), -ESRCH);
}

TEST_GROUP(test_selector, TEST(reads_the_attributes_of_a_process),
	   TEST(an_ended_process_is_judged_by_what_is_known))
