/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/calls.h"

#include <errno.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static const char stacks[] = "main;f;g 3\nmain;f;f;g 4\nmain;h 1\nmain;h;f 2\n";

static const struct calls_node *child(const struct calls *c, const struct calls_node *of,
				      unsigned int nth, const char *name, int64_t total)
{
	uint32_t id = of->first_child;
	const struct calls_node *n;

	while (nth-- > 0)
		id = calls_node(c, id)->next;
	n = calls_node(c, id);
	assert_string_equal(calls_entry(c, n).name, name);
	assert_int_equal(n->total, total);
	return n;
}

static struct calls *build(const struct profile *p, enum calls_direction direction,
			   const char *name)
{
	const struct calls_options opt = { .direction = direction, .name = name };
	struct calls *c;

	assert_int_equal(calls_build(&c, p, &opt), 0);
	return c;
}

static void the_tree_is_in_the_order_of_totals(void **state)
{
	struct profile *p = fixture_folded(stacks);
	struct calls *c = build(p, CALLS_ALL, NULL);
	const struct calls_node *n = child(c, calls_node(c, 0), 0, "main", 10);

	child(c, n, 0, "f", 7);
	n = child(c, n, 1, "h", 3);
	assert_int_equal(n->self, 1);
	child(c, n, 0, "f", 2);
	assert_int_equal(calls_sum(c), 10);
	calls_free(c);
	profile_free(p);
}

static void callees_begin_at_the_outermost_call(void **state)
{
	struct profile *p = fixture_folded(stacks);
	struct calls *c = build(p, CALLS_CALLEES, "f");
	const struct calls_node *n = child(c, calls_node(c, 0), 0, "f", 9);

	assert_int_equal(n->self, 2);
	child(c, n, 0, "f", 4);
	child(c, n, 1, "g", 3);
	calls_free(c);
	profile_free(p);
}

static void callers_lead_to_the_root(void **state)
{
	struct profile *p = fixture_folded(stacks);
	struct calls *c = build(p, CALLS_CALLERS, "f");
	const struct calls_node *n = child(c, calls_node(c, 0), 0, "f", 9);

	child(c, n, 0, "main", 7);
	n = child(c, n, 1, "h", 2);
	child(c, n, 0, "main", 2);
	calls_free(c);
	profile_free(p);
}

static void a_part_of_a_name_matches_if_no_name_is_equal(void **state)
{
	struct profile *p = fixture_folded("main;operator new 2\nmain;operator delete 1\nnew 4\n");
	struct calls *c = build(p, CALLS_CALLERS, "operator");

	child(c, calls_node(c, 0), 0, "operator new", 2);
	child(c, calls_node(c, 0), 1, "operator delete", 1);
	calls_free(c);
	c = build(p, CALLS_CALLERS, "new");
	assert_int_equal(calls_n_nodes(c), 2);
	calls_free(c);
	profile_free(p);
}

static void an_unknown_function_has_no_tree(void **state)
{
	struct profile *p = fixture_folded(stacks);
	const struct calls_options opt = { .direction = CALLS_CALLEES, .name = "nothing" };
	struct calls *c;

	assert_int_equal(calls_build(&c, p, &opt), -ENOENT);
	profile_free(p);
}

TEST_GROUP(test_calls, TEST(the_tree_is_in_the_order_of_totals),
	   TEST(callees_begin_at_the_outermost_call), TEST(callers_lead_to_the_root),
	   TEST(a_part_of_a_name_matches_if_no_name_is_equal),
	   TEST(an_unknown_function_has_no_tree))
