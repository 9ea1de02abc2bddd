/* SPDX-License-Identifier: Apache-2.0 */
/* On every number of CPUs, a plan stays within the limit and leaves each part what it needs. */
#include "agent/memory_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

#define MIB (1ULL << 20)

enum { CPUS_MAX = 512, CPUS_MOST = 4096, HUNG_MAX = 16 };

#define GIB (1024 * MIB)

/* The sizes of Linux on x86-64, with off-CPU time; sampler.c tests that they are right. */
static struct memory_needs needs(uint64_t limit, uint32_t n_cpus)
{
	return (struct memory_needs){ .limit = limit,
				      .fixed_bytes = 8 * MIB,
				      .per_cpu_bytes = 2 * (80 << 10) + 2 * (36 << 10),
				      .n_cpus = n_cpus,
				      .queue_bytes = 8 * MIB,
				      .hung_are_released = true };
}

/* The limit that the message of a refused plan proposes, in bytes. */
static uint64_t proposed(const struct err *err)
{
	const char *text = strstr(err->msg, "at least ");
	unsigned long long mib = 0;

	assert_non_null(text);
	assert_int_equal(sscanf(text, "at least %lluM", &mib), 1);
	return mib * MIB;
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static void check(const struct memory_plan *p, uint32_t n_cpus)
{
	assert_true(memory_plan_total(p, n_cpus) <= p->limit);
	assert_true(is_power_of_two(p->ring_bytes) && is_power_of_two(p->sideband_bytes));
	assert_true(p->ring_bytes >= 256 << 10);
	assert_true(p->ring_bytes / n_cpus >= 8 << 10);
	assert_true(p->sideband_bytes >= 32 << 10);
	/* one chunk of tables at least, and a stack of the greatest depth in every queue */
	assert_true(p->tables >= MIB);
	assert_true(p->backlog >= 160 << 10 && p->counts >= 256 << 10);
	assert_true(p->window <= p->counts);
	/* the mappings of a hundred processes */
	assert_true(p->mappings >= 100 << 10);
	assert_true(p->copies >= MIB / 2 && p->copies <= 64 * MIB);
	assert_true(p->opened_maps >= MIB / 4 && p->opened_maps <= 4 * MIB);
	assert_true(p->n_hung >= 1 && p->n_hung <= HUNG_MAX && p->hung_bytes);
	assert_true(p->worker >= 4 * MIB && p->worker <= p->worker_rss);
	assert_true(p->readers >= 3 * MIB && p->n_readers >= 1 && p->n_readers <= 2);
	assert_true(p->lang_reader >= 3 * MIB / 2 && p->lang_reader <= 32 * MIB);
	assert_true(p->jit_reader >= MIB && p->jit_reader <= p->worker_rss - p->worker);
	assert_true(p->n_readers == 1 || p->readers / p->n_readers >= 32 * MIB);
}

/* Makes a plan for these needs, or for the smallest limit if theirs is too small. */
static void check_or_raise(struct memory_needs in)
{
	uint64_t limit = in.limit;
	struct err err = { 0 };
	struct memory_plan p;

	if (memory_plan_make(&p, &in, &err) < 0) {
		in.limit = proposed(&err);
		assert_true(in.limit > limit);
		assert_int_equal(memory_plan_make(&p, &in, &err), 0);
	}
	check(&p, in.n_cpus);
}

static void every_number_of_cpus_has_a_plan_within_the_limit(void **state)
{
	for (uint32_t n = 1; n <= CPUS_MOST; n++) {
		for (uint64_t limit = 48 * MIB; limit <= 64 * GIB; limit += limit / 4) {
			struct memory_needs in = needs(limit, n);

			check_or_raise(in);
			in.hung_are_released = false;
			check_or_raise(in);
			in.queue_bytes = GIB;
			in.per_cpu_bytes *= 4;
			check_or_raise(in);
		}
	}
}

/* Near the smallest limit, the shares of each further MiB differ. */
static void each_mib_above_the_smallest_limit_has_a_plan_within_it(void **state)
{
	for (uint32_t n = 1; n <= CPUS_MOST; n = n < 16 ? n + 1 : n * 2) {
		for (int released = 0; released < 2; released++) {
			struct memory_needs in = needs(MIB, n);
			struct err err = { 0 };
			struct memory_plan p;

			in.hung_are_released = released;
			assert_int_equal(memory_plan_make(&p, &in, &err), -EINVAL);
			in.limit = proposed(&err);
			for (uint64_t end = in.limit + 256 * MIB; in.limit < end; in.limit += MIB)
				check_or_raise(in);
		}
	}
}

static void all_openers_may_hang_if_their_memory_is_released(void **state)
{
	struct memory_needs in = needs(128 * MIB, 2);
	struct memory_plan p;

	assert_int_equal(memory_plan_make(&p, &in, NULL), 0);
	assert_int_equal(p.n_hung, HUNG_MAX);
	in.hung_are_released = false;
	assert_int_equal(memory_plan_make(&p, &in, NULL), 0);
	assert_in_range(p.n_hung, 4, HUNG_MAX - 1);
	in.limit = 512 * MIB;
	assert_int_equal(memory_plan_make(&p, &in, NULL), 0);
	assert_int_equal(p.n_hung, HUNG_MAX);
	assert_true(p.hung_bytes >= HUNG_MAX * 14 * MIB / 10);
}

/* A refusal proposes the smallest limit, in MiB, that is accepted. */
static void a_refusal_proposes_the_smallest_limit(void **state)
{
	for (uint32_t n = 1; n <= CPUS_MOST; n++) {
		struct memory_needs in = needs(MIB, n);
		struct err err = { 0 };
		struct memory_plan p;

		assert_int_equal(memory_plan_make(&p, &in, &err), -EINVAL);
		in.limit = proposed(&err) - MIB;
		assert_int_equal(memory_plan_make(&p, &in, NULL), -EINVAL);
	}
}

static void more_memory_makes_no_part_smaller(void **state)
{
	for (uint32_t n = 1; n <= CPUS_MAX; n *= 2) {
		struct memory_needs in = needs(256 * MIB, n), more = needs(512 * MIB, n);
		struct memory_plan a, b;

		assert_int_equal(memory_plan_make(&a, &in, NULL), 0);
		assert_int_equal(memory_plan_make(&b, &more, NULL), 0);
		assert_true(b.ring_bytes >= a.ring_bytes);
		assert_true(b.sideband_bytes >= a.sideband_bytes);
		assert_true(b.tables > a.tables && b.counts > a.counts && b.part > a.part);
		assert_true(b.worker_rss > a.worker_rss && b.addresses > a.addresses);
		assert_true(b.copies > a.copies && b.opened_maps >= a.opened_maps);
		assert_true(b.n_hung >= a.n_hung);
	}
}

static void the_default_limit_suits_a_small_machine_and_not_a_large_one(void **state)
{
	struct memory_needs in = needs(128 * MIB, 2);
	struct memory_plan p;

	assert_int_equal(memory_plan_make(&p, &in, NULL), 0);
	assert_int_equal(p.ring_bytes, 2 * MIB);
	assert_int_equal(p.sideband_bytes, 256 << 10);
	assert_int_equal(p.queue_bytes, 8 * MIB);
	assert_true(p.tables > 18 * MIB);
	assert_true(p.mappings > 3 * MIB / 2);
	in.n_cpus = CPUS_MAX;
	assert_int_equal(memory_plan_make(&p, &in, NULL), -EINVAL);
	/* the smallest limit of the configuration */
	in = needs(48 * MIB, 2);
	assert_int_equal(memory_plan_make(&p, &in, NULL), 0);
}

TEST_GROUP(test_memory_plan, TEST(every_number_of_cpus_has_a_plan_within_the_limit),
	   TEST(each_mib_above_the_smallest_limit_has_a_plan_within_it),
	   TEST(all_openers_may_hang_if_their_memory_is_released),
	   TEST(a_refusal_proposes_the_smallest_limit), TEST(more_memory_makes_no_part_smaller),
	   TEST(the_default_limit_suits_a_small_machine_and_not_a_large_one))
