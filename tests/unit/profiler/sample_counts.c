/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/sample_counts.h"

#include <string.h>

#include "bpf/shared/abi.h"
#include "tests/test.h"

static const struct sample_counts_thread thread_a = { .pid = 1, .tid = 1, .comm = "a" };
static const struct sample_counts_thread thread_b = { .pid = 1, .tid = 2, .comm = "b" };

static void counts_equal_stacks_of_a_thread_together(void **state)
{
	uint64_t x[] = { 1, 2, 3 }, y[] = { 1, 2 };
	struct sample_counts *c;
	const uint64_t *words;
	size_t n;

	assert_int_equal(sample_counts_new(&c, false), 0);
	assert_int_equal(sample_counts_add(c, &thread_a, 0, x, 3), SAMPLE_COUNTS_NEW_THREAD);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sample_counts_add(c, &thread_a, 0, x, 3), 0);
	assert_int_equal(sample_counts_add(c, &thread_b, 0, x, 3), SAMPLE_COUNTS_NEW_THREAD);
	assert_int_equal(sample_counts_add(c, &thread_a, 0, y, 2), 0);
	assert_int_equal(sample_counts_add(c, &thread_a, 0, NULL, 0), 0);
	assert_int_equal(sample_counts_total(c), 8);
	assert_int_equal(sample_counts_n_samples(c), 4);
	assert_int_equal(sample_counts_n_stacks(c), 3);
	assert_int_equal(sample_counts_sample(c, 0)->count, 5);
	assert_int_equal(sample_counts_sample(c, 1)->stack, sample_counts_sample(c, 0)->stack);
	assert_string_equal(sample_counts_thread(c, sample_counts_sample(c, 1)->thread)->comm, "b");
	words = sample_counts_stack(c, sample_counts_sample(c, 2)->stack, &n);
	assert_int_equal(n, 2);
	assert_memory_equal(words, y, sizeof(y));
	sample_counts_free(c);
}

static void distinguishes_events_of_one_stack(void **state)
{
	uint64_t x[] = { 1, 2 };
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, false), 0);
	sample_counts_add(c, &thread_a, 0, x, 2);
	sample_counts_add_event(c, &thread_a, NULL, 3, 0, x, 2);
	sample_counts_add_event(c, &thread_a, NULL, 3, 0, x, 2);
	assert_int_equal(sample_counts_n_samples(c), 2);
	assert_int_equal(sample_counts_sample(c, 1)->event, 3);
	assert_int_equal(sample_counts_sample(c, 1)->count, 2);
	assert_int_equal(sample_counts_n_stacks(c), 1);
	sample_counts_free(c);
}

static void a_new_window_begins_empty(void **state)
{
	uint64_t x[] = { 7 };
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, false), 0);
	assert_int_equal(sample_counts_add(c, &thread_a, 0, x, 1), SAMPLE_COUNTS_NEW_THREAD);
	sample_counts_clear(c);
	assert_int_equal(sample_counts_total(c), 0);
	assert_int_equal(sample_counts_n_samples(c), 0);
	assert_int_equal(sample_counts_add(c, &thread_a, 0, x, 1), SAMPLE_COUNTS_NEW_THREAD);
	assert_int_equal(sample_counts_sample(c, 0)->count, 1);
	sample_counts_free(c);
}

static void stores_the_time_of_each_sample(void **state)
{
	uint64_t x[] = { 1 }, y[] = { 2 }, times[4];
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, true), 0);
	sample_counts_add(c, &thread_a, 10, x, 1);
	sample_counts_add(c, &thread_a, 20, y, 1);
	sample_counts_add(c, &thread_a, 30, x, 1);
	assert_int_equal(sample_counts_times(c, sample_counts_sample(c, 0), times), 2);
	assert_int_equal(times[0], 30);
	assert_int_equal(times[1], 10);
	assert_int_equal(sample_counts_times(c, sample_counts_sample(c, 1), times), 1);
	assert_int_equal(times[0], 20);
	assert_true(sample_counts_bytes(c) > 0);
	sample_counts_clear(c);
	sample_counts_add(c, &thread_a, 40, x, 1);
	assert_int_equal(sample_counts_times(c, sample_counts_sample(c, 0), times), 1);
	assert_int_equal(times[0], 40);
	sample_counts_free(c);
}

static struct sample_counts_scale
twice_thinned(void *ctx, const struct sample_counts_thread *thread, uint8_t place)
{
	struct sample_counts_scale as_it_is = { 1, 1 }, twice = { 2, 1 }, all = { 1, 3 };

	if (thread->tid != thread_a.tid)
		return as_it_is;
	return place ? all : twice;
}

static void waits_are_counted_separately_from_running_samples(void **state)
{
	struct sample_counts_wait wait = { .ns = 500, .count = 1, .state = 2, .place_plus_1 = 1 };
	uint64_t x[] = { 1 };
	struct sample_counts *c;

	assert_int_equal(sample_counts_new(&c, true), 0);
	sample_counts_add(c, &thread_a, 10, x, 1);
	assert_int_equal(sample_counts_add_wait(c, &thread_a, &wait, x, 1), 0);
	wait = (struct sample_counts_wait){
		.ns = 700, .count = 3, .state = 2, .is_thinned = true, .place_plus_1 = 1
	};
	assert_int_equal(sample_counts_add_wait(c, &thread_a, &wait, x, 1), 0);
	wait = (struct sample_counts_wait){ .ns = 9, .state = 3 };
	assert_int_equal(sample_counts_add_wait(c, &thread_a, &wait, x, 1), 0);
	wait = (struct sample_counts_wait){
		.ns = 70, .count = 2, .state = 2, .place_plus_1 = 5
	}; /* in another place */
	assert_int_equal(sample_counts_add_wait(c, &thread_a, &wait, x, 1), 0);
	assert_int_equal(sample_counts_total(c), 1);
	assert_int_equal(sample_counts_n_samples(c), 4);
	assert_int_equal(sample_counts_n_stacks(c), 1);
	assert_int_equal(sample_counts_sample(c, 1)->off_ns, 1200);
	assert_int_equal(sample_counts_sample(c, 1)->count, 4);
	assert_int_equal(sample_counts_sample(c, 2)->off_state, 3);
	assert_int_equal(sample_counts_times(c, sample_counts_sample(c, 1), NULL), 0);
	sample_counts_scale(c, twice_thinned, NULL);
	assert_int_equal(sample_counts_sample(c, 1)->off_ns, 1900);
	assert_int_equal(sample_counts_sample(c, 2)->off_ns, 9);
	assert_int_equal(sample_counts_sample(c, 3)->off_ns, 210);
	assert_int_equal(sample_counts_sample(c, 1)->thinned_ns, 0);
	sample_counts_free(c);
}

/* Shallow stacks are not truncated, and none is without a limit. */
static void deep_stacks_are_truncated_when_memory_is_short(void **state)
{
	enum { DEEP = SAMPLE_COUNTS_TRUNCATED_FRAMES + 2 };
	uint64_t words[DEEP], as_it_was[DEEP];
	struct sample_counts *c;
	size_t held;

	for (size_t i = 0; i < DEEP; i++)
		words[i] = as_it_was[i] = i;
	assert_int_equal(sample_counts_new(&c, false), 0);
	sample_counts_add(c, &thread_a, 0, words, DEEP);
	held = sample_counts_bytes(c);
	assert_int_equal(sample_counts_truncate(c, 0, words, DEEP), DEEP);
	assert_int_equal(sample_counts_truncate(c, held, words, DEEP), DEEP);
	assert_int_equal(sample_counts_truncate(c, held - 1, words, DEEP - 1), DEEP - 1);
	assert_memory_equal(words, as_it_was, sizeof(words));
	assert_int_equal(sample_counts_truncate(c, held - 1, words, DEEP),
			 SAMPLE_COUNTS_TRUNCATED_FRAMES + 1);
	assert_memory_equal(words, as_it_was, SAMPLE_COUNTS_TRUNCATED_FRAMES * sizeof(*words));
	assert_int_equal(words[SAMPLE_COUNTS_TRUNCATED_FRAMES],
			 FRAME_WORD(FRAME_ERROR, WALK_ERR_NO_ROOM));
	sample_counts_free(c);
}

static void counts_are_full_a_quarter_beyond_the_limit(void **state)
{
	uint64_t x[64] = { 1 };
	struct sample_counts *c;
	size_t held;

	assert_int_equal(sample_counts_new(&c, false), 0);
	sample_counts_add(c, &thread_a, 0, x, 64);
	held = sample_counts_bytes(c);
	assert_false(sample_counts_is_full(c, 0));
	assert_false(sample_counts_is_full(c, held));
	assert_false(sample_counts_is_full(c, held - held / 8));
	assert_true(sample_counts_is_full(c, held / 2));
	sample_counts_free(c);
}

TEST_GROUP(test_sample_counts, TEST(deep_stacks_are_truncated_when_memory_is_short),
	   TEST(counts_are_full_a_quarter_beyond_the_limit),
	   TEST(waits_are_counted_separately_from_running_samples),
	   TEST(stores_the_time_of_each_sample), TEST(counts_equal_stacks_of_a_thread_together),
	   TEST(distinguishes_events_of_one_stack), TEST(a_new_window_begins_empty))
