/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/collect.h"

#include <string.h>

#include "tests/test.h"

static const struct collect_thread thread_a = { .pid = 1, .tid = 1, .comm = "a" };
static const struct collect_thread thread_b = { .pid = 1, .tid = 2, .comm = "b" };

static void counts_equal_stacks_of_a_thread_together(void **state)
{
	uint64_t x[] = { 1, 2, 3 }, y[] = { 1, 2 };
	struct collect *c;
	const uint64_t *words;
	size_t n;

	assert_int_equal(collect_new(&c), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(collect_add(c, &thread_a, x, 3), 0);
	assert_int_equal(collect_add(c, &thread_b, x, 3), 0);
	assert_int_equal(collect_add(c, &thread_a, y, 2), 0);
	assert_int_equal(collect_add(c, &thread_a, NULL, 0), 0);
	assert_int_equal(collect_total(c), 8);
	assert_int_equal(collect_n_samples(c), 4);
	assert_int_equal(collect_n_stacks(c), 3);
	assert_int_equal(collect_sample(c, 0)->count, 5);
	assert_int_equal(collect_sample(c, 1)->stack, collect_sample(c, 0)->stack);
	assert_string_equal(collect_thread(c, collect_sample(c, 1)->thread)->comm, "b");
	words = collect_stack(c, collect_sample(c, 2)->stack, &n);
	assert_int_equal(n, 2);
	assert_memory_equal(words, y, sizeof(y));
	collect_free(c);
}

static void a_new_window_begins_empty(void **state)
{
	uint64_t x[] = { 7 };
	struct collect *c;

	assert_int_equal(collect_new(&c), 0);
	assert_int_equal(collect_add(c, &thread_a, x, 1), 0);
	collect_clear(c);
	assert_int_equal(collect_total(c), 0);
	assert_int_equal(collect_n_samples(c), 0);
	assert_int_equal(collect_add(c, &thread_a, x, 1), 0);
	assert_int_equal(collect_sample(c, 0)->count, 1);
	collect_free(c);
}

TEST_GROUP(test_collect, TEST(counts_equal_stacks_of_a_thread_together),
	   TEST(a_new_window_begins_empty))
