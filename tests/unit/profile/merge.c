/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "tests/test.h"

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static struct profile *new_profile(void)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	return p;
}

/* One sample of @name in @file, by process @pid. */
static void add(struct profile *p, const char *name, const char *file, int64_t pid, int64_t value)
{
	struct profile_function f = { .name = string(p, name) };
	struct profile_mapping m = { .start = 0x1000, .limit = 0x2000, .file = string(p, file) };
	struct profile_line line = { .line = 1 };
	struct profile_location l = { .address = 0x1234, .n_lines = 1, .lines = &line };
	struct profile_label label = { .key = string(p, "pid"), .num = pid };
	uint64_t time = 11;
	struct profile_sample s = {
		.n_labels = 1, .labels = &label, .values = &value, .n_times = 1, .times = &time
	};
	uint32_t loc;

	assert_int_equal(profile_add_mapping(p, &m, &l.mapping), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, &l, &loc), 0);
	assert_int_equal(profile_add_stack(p, &loc, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
}

static const char *leaf_name(const struct profile *p, uint32_t sample)
{
	struct profile_location l;
	size_t n;

	l = profile_location(p, profile_stack(p, profile_sample(p, sample).stack, &n)[0]);
	assert_int_equal(n, 1);
	return profile_string(p, profile_function(p, l.lines[0].function)->name);
}

static void equal_samples_are_added_and_others_appended(void **state)
{
	struct profile *a = new_profile(), *b = new_profile();

	add(a, "f", "a.out", 1, 10);
	add(b, "g", "b.out", 1, 1);
	add(b, "f", "a.out", 1, 5);
	add(b, "f", "a.out", 2, 7);
	assert_int_equal(profile_merge(a, b), 0);
	assert_int_equal(profile_n_samples(a), 3);
	assert_int_equal(profile_sample(a, 0).values[0], 15);
	assert_int_equal(profile_sample(a, 0).n_times, 2);
	assert_string_equal(leaf_name(a, 1), "g");
	assert_string_equal(leaf_name(a, 2), "f");
	assert_int_equal(profile_sample(a, 2).labels[0].num, 2);
	assert_int_equal(profile_n_functions(a), 2);
	assert_int_equal(profile_n_mappings(a), 2);
	profile_free(a);
	profile_free(b);
}

static void an_empty_profile_adopts_everything(void **state)
{
	struct profile *a, *b = new_profile();

	add(b, "g", "b.out", 1, 3);
	assert_int_equal(profile_add_comment(b, "made by a test"), 0);
	*profile_meta(b) = (struct profile_meta){
		.time_ns = 5,
		.duration_ns = 6,
		.period = 7,
		.period_type = { string(b, "cpu"), string(b, "nanoseconds") },
		.doc_url = string(b, "doc"),
	};
	assert_int_equal(profile_new(&a), 0);
	assert_int_equal(profile_merge(a, b), 0);
	assert_int_equal(profile_merge(a, b), 0);
	assert_int_equal(profile_n_sample_types(a), 1);
	assert_int_equal(profile_sample(a, 0).values[0], 6);
	assert_int_equal(profile_n_comments(a), 1);
	assert_string_equal(profile_string(a, profile_comment(a, 0)), "made by a test");
	assert_int_equal(profile_meta(a)->time_ns, 5);
	assert_int_equal(profile_meta(a)->duration_ns, 12);
	assert_int_equal(profile_meta(a)->period, 7);
	assert_string_equal(profile_string(a, profile_meta(a)->period_type.unit), "nanoseconds");
	assert_string_equal(profile_string(a, profile_meta(a)->doc_url), "doc");
	profile_free(a);
	profile_free(b);
}

static void other_sample_types_are_refused(void **state)
{
	struct profile *a = new_profile(), *b;

	assert_int_equal(profile_new(&b), 0);
	assert_int_equal(profile_add_sample_type(b, "samples", "bytes"), 0);
	assert_int_equal(profile_merge(a, b), -EINVAL);
	assert_int_equal(profile_add_sample_type(a, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_merge(a, b), -EINVAL);
	assert_int_equal(profile_merge(a, a), -EINVAL);
	profile_free(a);
	profile_free(b);
}

static void labels_for_all_samples_do_not_replace_their_own(void **state)
{
	struct profile *a = new_profile(), *b = new_profile();
	static const struct profile_text_label more[] = { { "pid", "all" }, { "service", "shop" } };
	struct profile_sample s;

	add(b, "f", "a.out", 7, 5);
	assert_string_equal(profile_string(b, profile_sample(b, 0).labels[0].key), "pid");
	assert_int_equal(profile_merge_with_labels(a, b, more, 2), 0);
	s = profile_sample(a, 0);
	assert_int_equal(s.n_labels, 2);
	for (uint32_t i = 0; i < 2; i++) {
		if (strcmp(profile_string(a, s.labels[i].key), "pid") == 0)
			assert_int_equal(s.labels[i].num, 7);
		else
			assert_string_equal(profile_string(a, s.labels[i].str), "shop");
	}
	profile_free(a);
	profile_free(b);
}

TEST_GROUP(test_merge, TEST(labels_for_all_samples_do_not_replace_their_own),
	   TEST(equal_samples_are_added_and_others_appended),
	   TEST(an_empty_profile_adopts_everything), TEST(other_sample_types_are_refused))
