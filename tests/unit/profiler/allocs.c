/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/allocs.h"

#include <math.h>

#include "bpf/shared/abi.h"
#include "profiler/sample_counts.h"
#include "tests/test.h"

enum { MEAN = 1000, TID = 7 };

static const struct sample_counts_thread thread = { .pid = TID, .tid = TID };

static struct allocs *new_allocs(bool frees, size_t max_bytes)
{
	struct allocs *a;

	assert_int_equal(allocs_new(&a, MEAN, frees, max_bytes), 0);
	return a;
}

/* A sampled allocation of @bytes at @time_ns by the stack @word. */
static void add(struct allocs *a, uint64_t time_ns, uint64_t bytes, uint64_t word)
{
	const struct record_header h = {
		.flags = RECORD_ALLOC, .pid = TID, .tid = TID, .time_ns = time_ns, .arg = bytes
	};

	allocs_add(a, &h, &thread, NULL, &word, 1);
}

static void end(struct allocs *a, uint64_t time_ns)
{
	const struct record_header h = { .type = RECORD_FREED, .arg = time_ns, .len = TID };

	allocs_end(a, &h);
}

/* The sums of the only stack. */
static struct sample_counts_sample sums(struct allocs *a)
{
	struct sample_counts *c;
	struct sample_counts_sample s = { 0 };

	assert_int_equal(sample_counts_new(&c, false), 0);
	assert_int_equal(allocs_attribute(a, c), 0);
	assert_true(sample_counts_n_samples(c) <= 1);
	if (sample_counts_n_samples(c))
		s = *sample_counts_sample(c, 0);
	sample_counts_free(c);
	return s;
}

static void a_sample_stands_for_allocations_by_its_chance(void **state)
{
	struct allocs *a = new_allocs(false, 1 << 20);
	double weight = 1 / (1 - exp(-0.1));

	for (uint64_t i = 1; i <= 100; i++)
		add(a, i, 100, 1);
	assert_int_equal(sums(a).count, llround(100 * weight));
	assert_int_equal(sums(a).bytes, llround(100 * 100 * weight));
	assert_int_equal(sums(a).live_count, 0);
	allocs_free(a);
}

static void a_large_allocation_stands_for_itself(void **state)
{
	struct allocs *a = new_allocs(true, 1 << 20);

	add(a, 1, 1 << 30, 1);
	assert_int_equal(sums(a).count, 1);
	assert_int_equal(sums(a).bytes, 1 << 30);
	assert_int_equal(sums(a).live_bytes, 1 << 30);
	allocs_free(a);
}

static void a_block_that_ended_is_not_in_use(void **state)
{
	struct allocs *a = new_allocs(true, 1 << 20);
	struct allocs_stats st;

	add(a, 1, 1 << 20, 1);
	add(a, 2, 1 << 20, 1);
	end(a, 1);
	end(a, 1); /* twice */
	end(a, 3); /* unknown */
	assert_int_equal(sums(a).count, 2);
	assert_int_equal(sums(a).live_count, 1);
	allocs_stats(a, &st);
	assert_int_equal(st.n_samples, 2);
	assert_int_equal(st.n_ended, 1);
	allocs_free(a);
}

static void the_end_may_be_known_before_the_stack(void **state)
{
	struct allocs *a = new_allocs(true, 1 << 20);

	end(a, 1);
	add(a, 1, 1 << 20, 1);
	assert_int_equal(sums(a).count, 1);
	assert_int_equal(sums(a).live_count, 0);
	allocs_free(a);
}

static void memory_is_limited(void **state)
{
	struct allocs *a = new_allocs(true, 1 << 16);
	struct allocs_stats st;

	for (uint64_t i = 1; i <= 100000; i++)
		add(a, i, 100, i);
	allocs_stats(a, &st);
	assert_true(st.n_no_room > 90000);
	assert_true(st.n_samples > 0);
	allocs_free(a);
}

static void an_allocation_of_no_bytes_is_not_counted(void **state)
{
	struct allocs *a = new_allocs(true, 1 << 16);

	add(a, 1, 0, 1);
	assert_int_equal(sums(a).count, 0);
	allocs_free(a);
}

TEST_GROUP(test_allocs, TEST(a_sample_stands_for_allocations_by_its_chance),
	   TEST(a_large_allocation_stands_for_itself), TEST(a_block_that_ended_is_not_in_use),
	   TEST(the_end_may_be_known_before_the_stack), TEST(memory_is_limited),
	   TEST(an_allocation_of_no_bytes_is_not_counted))
