/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "tests/test.h"

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static uint32_t function(struct profile *p, const char *name)
{
	struct profile_function f = { .name = string(p, name) };
	uint32_t id;

	assert_int_equal(profile_add_function(p, &f, &id), 0);
	return id;
}

static uint32_t location(struct profile *p, uint64_t address, uint32_t fn)
{
	struct profile_line line = { .function = fn, .line = 3 };
	struct profile_location l = {
		.mapping = PROFILE_NONE, .address = address, .n_lines = 1, .lines = &line
	};
	uint32_t id;

	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return id;
}

static struct profile *with_one_stack(void)
{
	struct profile *p;
	uint32_t loc, stack;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	loc = location(p, 0x1000, function(p, "main"));
	assert_int_equal(profile_add_stack(p, &loc, 1, &stack), 0);
	assert_int_equal(stack, 0);
	return p;
}

static void equal_things_have_one_id(void **state)
{
	struct profile *p = with_one_stack();
	struct profile_mapping m = { .start = 1, .limit = 2, .file = string(p, "a.out") };
	uint32_t a, b, loc;

	assert_int_equal(profile_add_mapping(p, &m, &a), 0);
	assert_int_equal(profile_add_mapping(p, &m, &b), 0);
	assert_int_equal(a, b);
	m.has_inlines = true;
	assert_int_equal(profile_add_mapping(p, &m, &b), 0);
	assert_int_not_equal(a, b);
	assert_true(profile_mapping(p, b)->has_inlines);
	assert_int_equal(function(p, "main"), function(p, "main"));
	loc = location(p, 0x1000, function(p, "main"));
	assert_int_equal(loc, 0);
	assert_int_not_equal(location(p, 0x1001, function(p, "main")), loc);
	assert_int_equal(profile_add_stack(p, &loc, 1, &a), 0);
	assert_int_equal(a, 0);
	assert_int_equal(profile_n_stacks(p), 1);
	profile_free(p);
}

static void locations_differ_by_their_lines_and_kind(void **state)
{
	struct profile *p = with_one_stack();
	struct profile_line lines[] = { { function(p, "in"), 1, 2 }, { function(p, "out"), 3, 4 } };
	struct profile_location l = { .mapping = PROFILE_NONE, .n_lines = 2, .lines = lines };
	struct profile_location got;
	uint32_t a, b, c;

	assert_int_equal(profile_add_location(p, &l, &a), 0);
	l.n_lines = 1;
	assert_int_equal(profile_add_location(p, &l, &b), 0);
	l.kind = PROFILE_FRAME_GO;
	assert_int_equal(profile_add_location(p, &l, &c), 0);
	assert_true(a != b && b != c && a != c);
	got = profile_location(p, a);
	assert_int_equal(got.n_lines, 2);
	assert_int_equal(got.lines[1].line, 3);
	assert_int_equal(got.lines[1].column, 4);
	assert_int_equal(profile_location(p, c).kind, PROFILE_FRAME_GO);
	profile_free(p);
}

static void samples_with_the_same_stack_and_labels_are_added_up(void **state)
{
	struct profile *p = with_one_stack();
	uint32_t pid = string(p, "pid"), comm = string(p, "comm"), sh = string(p, "sh");
	struct profile_label ab[] = { { .key = pid, .num = 7 }, { .key = comm, .str = sh } };
	struct profile_label ba[] = { ab[1], ab[0] };
	int64_t values[] = { 1, 100 };
	uint64_t times[] = { 5, 6, 7 };
	struct profile_sample s = { .n_labels = 2, .labels = ab, .values = values };

	assert_int_equal(profile_add_sample(p, &s), 0);
	s.labels = ba;
	s.n_times = 2;
	s.times = times;
	assert_int_equal(profile_add_sample(p, &s), 0);
	s.n_times = 1;
	s.times = times + 2;
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(profile_n_samples(p), 1);
	s = profile_sample(p, 0);
	assert_int_equal(s.values[0], 3);
	assert_int_equal(s.values[1], 300);
	assert_int_equal(s.n_labels, 2);
	assert_true(s.labels[0].key < s.labels[1].key);
	assert_int_equal(s.n_times, 3);
	assert_memory_equal(s.times, times, sizeof(times));
	profile_free(p);
}

static void samples_with_other_labels_stay_apart(void **state)
{
	struct profile *p = with_one_stack();
	struct profile_label l = { .key = string(p, "pid"), .num = 7 };
	int64_t values[] = { 1, 100 };
	struct profile_sample s = { .values = values };

	assert_int_equal(profile_add_sample(p, &s), 0);
	s.n_labels = 1;
	s.labels = &l;
	assert_int_equal(profile_add_sample(p, &s), 0);
	l.num = 8;
	assert_int_equal(profile_add_sample(p, &s), 0);
	l.num_unit = string(p, "bytes");
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(profile_n_samples(p), 4);
	assert_int_equal(profile_sample(p, 2).labels[0].num, 8);
	profile_free(p);
}

static void unknown_ids_are_refused(void **state)
{
	struct profile *p = with_one_stack();
	struct profile_mapping m = { .file = 999 };
	struct profile_function f = { .name = 999 };
	struct profile_line line = { .function = 999 };
	struct profile_location l = { .mapping = 999 };
	struct profile_label label = { .key = 999 };
	int64_t values[] = { 1, 1 };
	struct profile_sample s = { .stack = 999, .values = values };
	uint32_t id = 999;

	assert_int_equal(profile_add_mapping(p, &m, &id), -EINVAL);
	assert_int_equal(profile_add_function(p, &f, &id), -EINVAL);
	assert_int_equal(profile_add_location(p, &l, &id), -EINVAL);
	l = (struct profile_location){ .mapping = PROFILE_NONE, .n_lines = 1, .lines = &line };
	assert_int_equal(profile_add_location(p, &l, &id), -EINVAL);
	assert_int_equal(profile_add_stack(p, &id, 1, &id), -EINVAL);
	assert_int_equal(profile_add_sample(p, &s), -EINVAL);
	s = (struct profile_sample){ .values = values, .n_labels = 1, .labels = &label };
	assert_int_equal(profile_add_sample(p, &s), -EINVAL);
	assert_int_equal(profile_n_samples(p), 0);
	profile_free(p);
}

static void sample_types_are_fixed_by_the_first_sample(void **state)
{
	struct profile *p = with_one_stack();
	int64_t values[] = { 1, 1 };
	struct profile_sample s = { .values = values };

	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(profile_add_sample_type(p, "x", "count"), -EINVAL);
	assert_int_equal(profile_n_sample_types(p), 2);
	profile_free(p);
}

static void sums_saturate_at_the_end_of_their_range(void **state)
{
	struct profile *p = with_one_stack();
	int64_t values[] = { INT64_MAX, INT64_MIN };
	struct profile_sample s = { .values = values };

	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_true(profile_sample(p, 0).values[0] == INT64_MAX);
	assert_true(profile_sample(p, 0).values[1] == INT64_MIN);
	profile_free(p);
}

static void every_string_is_a_line_that_is_safe_on_a_terminal(void **state)
{
	static const char *const unsafe[] = { "a\x1b[31m",   "\x7f",           "\xc2\x9b",
					      "\xff",        "line\nline",     "12345678\x1f",
					      "1234567\x7f", "1234567\xc2\x80" };
	struct profile *p;
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		assert_int_equal(profile_add_sample_type(p, unsafe[i], unsafe[i]), 0);
		assert_int_equal(profile_add_comment(p, unsafe[i]), 0);
		string(p, unsafe[i]);
	}
	assert_int_equal(profile_add_string(p, "a\0b", 3, &id), 0);
	assert_string_equal(profile_string(p, id), "a b");
	assert_int_equal(string(p, "a\nb"), id);
	for (uint32_t i = 0; i < profile_n_strings(p); i++)
		assert_true(utf8_is_line(profile_string(p, i), profile_string_len(p, i)));
	profile_free(p);
}

static void strings_are_found_as_they_were_added(void **state)
{
	struct profile *p;
	uint32_t id, found;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_string(p, "a\033b\xff", 4, &id), 0);
	assert_int_equal(profile_find_string(p, "a\033b\xff", 4, &found), 0);
	assert_int_equal(found, id);
	assert_int_equal(profile_find_string(p, "a b\xef\xbf\xbd", 6, &found), 0);
	assert_int_equal(found, id);
	assert_int_equal(profile_find_string(p, "a b", 3, &found), -ENOENT);
	assert_int_equal(profile_find_string(p, "\xff", 1, &found), -ENOENT);
	profile_free(p);
}

static void kinds_have_labels(void **state)
{
	assert_string_equal(profile_frame_kind_label(PROFILE_FRAME_KERNEL), "kernel");
	assert_string_equal(profile_frame_kind_label(PROFILE_FRAME_UNKNOWN), "unknown");
	assert_string_equal(profile_frame_kind_label(PROFILE_FRAME_MAX), "unknown");
}

static void memory_use_is_reported(void **state)
{
	struct profile *p = with_one_stack();
	int64_t values[] = { 1, 1 };
	uint64_t times[1000] = { 0 };
	struct profile_sample s = { .values = values, .n_times = 1000, .times = times };
	size_t before;

	assert_int_equal(profile_add_sample(p, &s), 0);
	before = profile_bytes(p);
	for (int i = 0; i < 100; i++)
		assert_int_equal(profile_add_sample(p, &s), 0);
	assert_true(profile_bytes(p) >= before + 100 * sizeof(times));
	profile_free(p);
}

TEST_GROUP(test_profile, TEST(equal_things_have_one_id),
	   TEST(locations_differ_by_their_lines_and_kind),
	   TEST(samples_with_the_same_stack_and_labels_are_added_up),
	   TEST(samples_with_other_labels_stay_apart), TEST(unknown_ids_are_refused),
	   TEST(sample_types_are_fixed_by_the_first_sample),
	   TEST(sums_saturate_at_the_end_of_their_range), TEST(kinds_have_labels),
	   TEST(every_string_is_a_line_that_is_safe_on_a_terminal),
	   TEST(strings_are_found_as_they_were_added), TEST(memory_use_is_reported))
