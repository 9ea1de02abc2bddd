/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap profile of an artificial process: what is read of it, and what of structures that
 * change or lie.
 *
 * covers: src/lang/heap/golang_frames.c
 */
#include "lang/heap/golang_heap.h"

#include <errno.h>
#include <string.h>

#include "golang_memory.h"
#include "lang/heap/golang_heap_layout.h"
#include "profile/profile.h"
#include "tests/test.h"

enum {
	BUCKETS_AT = GOLANG_MEMORY_AT + 0x20,
	CYCLE_AT = GOLANG_MEMORY_AT + 0x28,
	RATE_AT = GOLANG_MEMORY_AT + 0x30,
	RECORDS_AT = GOLANG_MEMORY_AT + 0x1000,
	RECORD_BYTES = 0x200,
	COUNTS_BYTES = 32,
	ACTIVE = 0, /* or 1 + the number of a cycle modulo 3 */
};

static const enum golang_function in_worker[] = { GOLANG_WORKER, GOLANG_MAIN, GOLANG_GOEXIT };
static struct golang_memory g;
static struct golang_heap_layout layout;
static struct golang_heap_counts counts;
static struct profile *p;
static uint32_t n_records;

static int setup(void **state)
{
	(void)state;
	golang_memory_init(&g);
	layout = (struct golang_heap_layout){
		.version = "1.26.1",
		.buckets = BUCKETS_AT,
		.cycle = CYCLE_AT,
		.rate = RATE_AT,
		.cycle_shift = 1,
	};
	golang_memory_put(&g, RATE_AT, 1);
	n_records = 0;
	return profile_new(&p);
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	return 0;
}

static uint64_t record_at(uint32_t i)
{
	return RECORDS_AT + i * RECORD_BYTES;
}

/* Puts a record at the front of the list. */
static uint32_t add(const enum golang_function *calls, size_t n)
{
	uint64_t at = record_at(n_records);

	golang_memory_put(&g, at + 8, n_records ? record_at(n_records - 1) : 0);
	golang_memory_put(&g, at + 16, 1);
	golang_memory_put(&g, at + 40, n);
	for (size_t i = 0; i < n; i++)
		golang_memory_put(&g, at + 48 + i * 8, golang_memory_pc(calls[i]));
	golang_memory_put(&g, BUCKETS_AT, at);
	return n_records++;
}

static void put_counts(uint32_t record, uint32_t which, size_t n_calls, const uint64_t c[4])
{
	uint64_t at = record_at(record) + 48 + n_calls * 8 + which * COUNTS_BYTES;

	for (size_t i = 0; i < 4; i++)
		golang_memory_put(&g, at + i * 8, c[i]);
}

static void put_cycle(uint32_t cycle)
{
	golang_memory_put(&g, CYCLE_AT, (uint64_t)cycle << 1 | 1);
}

static int read_heap(void)
{
	const struct golang_heap_program program = { .table = &g.table, .layout = &layout };

	return golang_heap_read(&program, &g.memory, p, &counts);
}

static void check_values(uint32_t sample, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const struct profile_sample s = profile_sample(p, sample);

	assert_int_equal(s.values[0], a);
	assert_int_equal(s.values[1], b);
	assert_int_equal(s.values[2], c);
	assert_int_equal(s.values[3], d);
}

static void check_stack(uint32_t sample, const char *want)
{
	char text[256] = "";
	size_t n;
	const uint32_t *ids = profile_stack(p, profile_sample(p, sample).stack, &n);

	for (size_t i = 0; i < n; i++) {
		const struct profile_location l = profile_location(p, ids[i]);

		strncat(text,
			l.n_lines
				? profile_string(p, profile_function(p, l.lines[0].function)->name)
				: "?",
			40);
		strncat(text, " ", 2);
	}
	assert_string_equal(text, want);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void every_allocation_is_counted_as_it_is(void **state)
{
	static const uint64_t c[] = { 5, 2, 500, 200 };

	put_counts(add(in_worker, 3), ACTIVE, 3, c);
	assert_int_equal(read_heap(), 0);
	assert_int_equal(profile_n_samples(p), 1);
	check_values(0, 5, 500, 3, 300);
	check_stack(0, "main.worker main.main ");
	assert_int_equal(profile_sample(p, 0).labels[0].num, 100);
	assert_int_equal(profile_meta(p)->period, 1);
	assert_int_equal(counts.n_records, 1);
	assert_true(counts.is_published);
	assert_string_equal(counts.version, "1.26.1");
}

/* The values that runtime/pprof computes: count / (1 - exp(-65536 / 524288)). */
static void samples_are_scaled_by_their_size(void **state)
{
	static const uint64_t c[] = { 2, 1, 131072, 65536 };

	golang_memory_put(&g, RATE_AT, 524288);
	put_counts(add(in_worker, 3), ACTIVE, 3, c);
	assert_int_equal(read_heap(), 0);
	check_values(0, 17, 1115476, 8, 557738);
}

static void the_current_cycle_belongs_to_what_is_published(void **state)
{
	static const uint64_t c[][4] = { { 1, 0, 10, 0 }, { 2, 0, 20, 0 }, { 4, 0, 40, 0 } };
	static const uint64_t active[] = { 8, 0, 80, 0 };
	uint32_t record = add(in_worker, 3);

	put_counts(record, ACTIVE, 3, active);
	for (uint32_t i = 0; i < 3; i++)
		put_counts(record, 1 + i, 3, c[i]);
	put_cycle(100); /* 100 % 3 is 1 */
	assert_int_equal(read_heap(), 0);
	check_values(0, 10, 100, 10, 100);
}

static void before_the_first_collection_all_counts_are_read(void **state)
{
	static const uint64_t c[] = { 3, 1, 30, 10 };

	put_counts(add(in_worker, 3), 1 + 2, 3, c);
	assert_int_equal(read_heap(), 0);
	check_values(0, 3, 30, 2, 20);
	assert_false(counts.is_published);
}

static void records_without_allocations_are_no_samples(void **state)
{
	add(in_worker, 3);
	assert_int_equal(read_heap(), 0);
	assert_int_equal(profile_n_samples(p), 0);
	assert_int_equal(counts.n_records, 1);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void the_runtimes_own_functions_are_hidden_above_the_programs(void **state)
{
	static const enum golang_function calls[] = { GOLANG_PARK, GOLANG_SWEEP, GOLANG_WORKER,
						      GOLANG_RUNTIME };
	static const uint64_t c[] = { 1, 0, 10, 0 };

	put_counts(add(calls, 4), ACTIVE, 4, c);
	assert_int_equal(read_heap(), 0);
	check_stack(0, "main.worker runtime.main ");
}

static void a_stack_of_the_runtime_alone_is_shown(void **state)
{
	static const enum golang_function calls[] = { GOLANG_PARK, GOLANG_RUNTIME, GOLANG_GOEXIT };
	static const uint64_t c[] = { 1, 0, 10, 0 };

	put_counts(add(calls, 3), ACTIVE, 3, c);
	assert_int_equal(read_heap(), 0);
	check_stack(0, "runtime.gopark runtime.main ");
}

static void addresses_outside_of_the_table_are_frames(void **state)
{
	static const uint64_t c[] = { 1, 0, 10, 0 };
	uint32_t record = add(in_worker, 3);

	golang_memory_put(&g, record_at(record) + 48, 0x1234);
	put_counts(record, ACTIVE, 3, c);
	assert_int_equal(read_heap(), 0);
	check_stack(0, "? main.main ");
}

/* ---- memory that changes or lies ------------------------------------------------------------- */

static void a_circular_list_is_refused(void **state)
{
	for (int i = 0; i < 5; i++)
		add(in_worker, 3);
	golang_memory_put(&g, record_at(0) + 8, record_at(3));
	assert_int_equal(read_heap(), -ELOOP);
	golang_memory_put(&g, record_at(3) + 8, record_at(3));
	assert_int_equal(read_heap(), -ELOOP);
}

static void records_of_other_profiles_and_sizes_are_omitted(void **state)
{
	static const uint64_t c[] = { 1, 0, 10, 0 };

	put_counts(add(in_worker, 3), ACTIVE, 3, c);
	golang_memory_put(&g, record_at(add(in_worker, 3)) + 16, 2);
	golang_memory_put(&g, record_at(add(in_worker, 3)) + 40, 0);
	golang_memory_put(&g, record_at(add(in_worker, 3)) + 40, GOLANG_HEAP_FRAMES_MAX + 1);
	golang_memory_put(&g, record_at(add(in_worker, 3)) + 40, UINT64_MAX / 8);
	assert_int_equal(read_heap(), 0);
	assert_int_equal(profile_n_samples(p), 1);
	assert_int_equal(counts.n_invalid, 4);
	assert_false(counts.is_cut);
}

static void a_list_that_leaves_the_memory_is_cut(void **state)
{
	static const uint64_t c[] = { 1, 0, 10, 0 };
	static const uint64_t ends[] = { 0x10, UINT64_MAX - 7, RECORDS_AT + 1,
					 GOLANG_MEMORY_AT - 8 };
	uint32_t record = add(in_worker, 3);

	put_counts(record, ACTIVE, 3, c);
	for (size_t i = 0; i < 4; i++) {
		profile_free(p);
		assert_int_equal(profile_new(&p), 0);
		golang_memory_put(&g, record_at(record) + 8, ends[i]);
		assert_int_equal(read_heap(), 0);
		assert_int_equal(profile_n_samples(p), 1);
		assert_true(counts.is_cut);
	}
}

static void values_out_of_range_are_omitted(void **state)
{
	static const uint64_t c[][4] = { { 1, 0, INT64_MAX, 0 }, { INT64_MAX, 0, 1, 0 } };

	golang_memory_put(&g, RATE_AT, 524288);
	put_counts(add(in_worker, 3), ACTIVE, 3, c[0]);
	put_counts(add(in_worker, 3), ACTIVE, 3, c[1]);
	assert_int_equal(read_heap(), 0);
	assert_int_equal(profile_n_samples(p), 0);
	assert_int_equal(counts.n_invalid, 2);
}

static void change_counts(struct golang_memory *m)
{
	const uint64_t c[] = { m->n_reads + 1, 0, 10, 0 };

	put_counts(0, ACTIVE, 3, c);
}

static void counts_that_always_change_are_reported(void **state)
{
	add(in_worker, 3);
	g.before_read = change_counts;
	assert_int_equal(read_heap(), 0);
	assert_int_equal(counts.n_changed, 1);
}

static void next_cycle(struct golang_memory *m)
{
	put_cycle((uint32_t)m->n_reads);
}

static void counts_of_different_cycles_are_reported(void **state)
{
	static const uint64_t c[] = { 1, 0, 10, 0 };

	put_counts(add(in_worker, 3), ACTIVE, 3, c);
	g.before_read = next_cycle;
	assert_int_equal(read_heap(), 0);
	assert_int_equal(counts.n_changed, 1);
}

static void without_its_variables_nothing_is_read(void **state)
{
	layout.buckets = 0x10;
	assert_int_equal(read_heap(), -EFAULT);
	layout.buckets = BUCKETS_AT;
	layout.cycle = 0x10;
	assert_int_equal(read_heap(), -EFAULT);
}

#define HEAP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

TEST_GROUP(test_golang_heap, HEAP_TEST(every_allocation_is_counted_as_it_is),
	   HEAP_TEST(samples_are_scaled_by_their_size),
	   HEAP_TEST(the_current_cycle_belongs_to_what_is_published),
	   HEAP_TEST(before_the_first_collection_all_counts_are_read),
	   HEAP_TEST(records_without_allocations_are_no_samples),
	   HEAP_TEST(the_runtimes_own_functions_are_hidden_above_the_programs),
	   HEAP_TEST(a_stack_of_the_runtime_alone_is_shown),
	   HEAP_TEST(addresses_outside_of_the_table_are_frames),
	   HEAP_TEST(a_circular_list_is_refused),
	   HEAP_TEST(records_of_other_profiles_and_sizes_are_omitted),
	   HEAP_TEST(a_list_that_leaves_the_memory_is_cut),
	   HEAP_TEST(values_out_of_range_are_omitted),
	   HEAP_TEST(counts_that_always_change_are_reported),
	   HEAP_TEST(counts_of_different_cycles_are_reported),
	   HEAP_TEST(without_its_variables_nothing_is_read))
