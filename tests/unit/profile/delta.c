/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/delta.h"

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "tests/test.h"

enum { N_TYPES = 2, ALLOC = 0, INUSE = 1 };

static struct profile *new_profile(const char *first)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, first, "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "inuse_objects", "count"), 0);
	return p;
}

static void add(struct profile *p, const char *name, int64_t alloc, int64_t inuse)
{
	struct profile_function f = { 0 };
	struct profile_line line = { .line = 1 };
	struct profile_location l = { .mapping = PROFILE_NONE, .n_lines = 1, .lines = &line };
	const int64_t values[N_TYPES] = { alloc, inuse };
	struct profile_sample s = { .values = values };
	uint32_t location;

	assert_int_equal(profile_add_string(p, name, strlen(name), &f.name), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &location), 0);
	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

/* The value of the stack of function @name; 0: there is none. */
static int64_t value_of(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		const struct profile_sample s = profile_sample(p, i);
		size_t n;
		struct profile_location l = profile_location(p, *profile_stack(p, s.stack, &n));

		if (!strcmp(profile_string(p, profile_function(p, l.lines->function)->name), name))
			return s.values[0];
	}
	return 0;
}

/* Takes type @type of the difference, and frees both profiles. */
static struct profile *delta(struct profile *now, struct profile *before, size_t type)
{
	struct profile *joined, *out;

	assert_int_equal(profile_delta_join(&joined, now, before), 0);
	assert_int_equal(profile_delta_take(&out, joined, N_TYPES, type), 0);
	assert_int_equal(profile_n_sample_types(out), 1);
	profile_free(joined);
	profile_free(now);
	profile_free(before);
	return out;
}

static void cumulative_values_are_subtracted(void **state)
{
	struct profile *before = new_profile("alloc_objects"), *now = new_profile("alloc_objects");
	struct profile *d;

	add(before, "old", 10, 1);
	add(before, "gone", 5, 5);
	add(now, "new", 7, 2);
	add(now, "old", 14, 3);
	add(now, "gone", 5, 0);
	d = delta(now, before, ALLOC);
	assert_int_equal(profile_n_samples(d), 2);
	assert_int_equal(value_of(d, "new"), 7);
	assert_int_equal(value_of(d, "old"), 4);
	profile_free(d);
}

static void other_values_are_those_of_the_later_profile(void **state)
{
	struct profile *before = new_profile("alloc_objects"), *now = new_profile("alloc_objects");
	struct profile *d;

	add(before, "f", 10, 9);
	add(now, "f", 14, 3);
	d = delta(now, before, INUSE);
	assert_int_equal(value_of(d, "f"), 3);
	assert_string_equal(profile_string(d, profile_sample_type(d, 0).type), "inuse_objects");
	profile_free(d);
}

static void a_sum_that_falls_is_a_restart(void **state)
{
	struct profile *before = new_profile("alloc_objects"), *now = new_profile("alloc_objects");
	struct profile *d;

	add(before, "f", 10, 1);
	add(before, "g", 10, 1);
	add(now, "f", 12, 1);
	d = delta(now, before, ALLOC);
	assert_int_equal(value_of(d, "f"), 12);
	profile_free(d);
}

static void one_stack_that_falls_counts_as_unchanged(void **state)
{
	struct profile *before = new_profile("alloc_objects"), *now = new_profile("alloc_objects");
	struct profile *d;

	add(before, "f", 10, 1);
	add(before, "g", 10, 1);
	add(now, "f", 9, 1);
	add(now, "g", 20, 1);
	d = delta(now, before, ALLOC);
	assert_int_equal(profile_n_samples(d), 1);
	assert_int_equal(value_of(d, "g"), 10);
	profile_free(d);
}

static void extreme_values_do_not_overflow(void **state)
{
	struct profile *before = new_profile("alloc_objects"), *now = new_profile("alloc_objects");
	struct profile *d;

	add(before, "f", INT64_MIN, 1);
	add(now, "f", INT64_MAX, 1);
	add(now, "g", INT64_MAX, 1);
	d = delta(now, before, ALLOC);
	assert_int_equal(value_of(d, "g"), INT64_MAX);
	assert_int_equal(value_of(d, "f"), 0);
	profile_free(d);
}

static void a_first_profile_has_none_before(void **state)
{
	struct profile *now = new_profile("alloc_objects"), *d;

	add(now, "f", 4, 2);
	d = delta(now, NULL, INUSE);
	assert_int_equal(value_of(d, "f"), 2);
	profile_free(d);
}

static void profiles_of_other_types_cannot_be_joined(void **state)
{
	struct profile *a = new_profile("alloc_objects"), *b = new_profile("contentions"), *joined;

	assert_int_equal(profile_delta_join(&joined, a, b), -EINVAL);
	profile_free(a);
	profile_free(b);
}

static void the_number_of_types_is_limited(void **state)
{
	struct profile *p, *joined;

	assert_int_equal(profile_new(&p), 0);
	for (int i = 0; i <= PROFILE_DELTA_TYPES_MAX; i++)
		assert_int_equal(profile_add_sample_type(p, "x", "count"), 0);
	assert_int_equal(profile_delta_join(&joined, p, NULL), -EFBIG);
	profile_free(p);
}

TEST_GROUP(test_delta, TEST(cumulative_values_are_subtracted),
	   TEST(other_values_are_those_of_the_later_profile), TEST(a_sum_that_falls_is_a_restart),
	   TEST(one_stack_that_falls_counts_as_unchanged), TEST(extreme_values_do_not_overflow),
	   TEST(a_first_profile_has_none_before), TEST(profiles_of_other_types_cannot_be_joined),
	   TEST(the_number_of_types_is_limited))
