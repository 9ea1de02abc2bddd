/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/change.h"

#include <string.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static const struct change_row *find(const struct changes *c, const char *name)
{
	for (size_t i = 0; i < changes_n_rows(c); i++)
		if (!strcmp(changes_row(c, i)->entry.name, name))
			return changes_row(c, i);
	return NULL;
}

static void a_change_by_chance_is_noise(void **state)
{
	struct profile *a = fixture_folded("main;big 1000\nmain;small 100\nmain;gone 20\n");
	struct profile *b = fixture_folded("main;big 1400\nmain;small 110\nmain;came 5\n");
	struct changes *c;

	assert_int_equal(changes_build(&c, a, b, &(struct changes_options){ 0 }), 0);
	assert_true(changes_counted(c));
	assert_string_equal(changes_row(c, 0)->entry.name, "big");
	assert_false(change_is_noise(&find(c, "big")->self));
	assert_true(change_is_noise(&find(c, "small")->self));
	assert_int_equal(change_delta(&find(c, "small")->self), 10);
	assert_false(change_is_noise(&find(c, "gone")->self));
	assert_true(find(c, "gone")->self.z < 0);
	assert_true(change_is_noise(&find(c, "came")->self));
	assert_int_equal(change_delta(&find(c, "main")->self), 0);
	assert_int_equal(change_delta(changes_sum(c)), 395);
	changes_free(c);
	profile_free(a);
	profile_free(b);
}

static void a_longer_recording_is_no_change_after_normalization(void **state)
{
	struct profile *a = fixture_folded("main;x 300\nmain;y 100\n");
	struct profile *b = fixture_folded("main;x 600\nmain;y 200\n");
	struct changes *c;

	assert_int_equal(changes_build(&c, a, b, &(struct changes_options){ .normalize = true }),
			 0);
	assert_int_equal(changes_n_rows(c), 0);
	changes_free(c);
	assert_int_equal(changes_build(&c, a, b, &(struct changes_options){ 0 }), 0);
	assert_int_equal(changes_n_rows(c), 3);
	assert_false(change_is_noise(&find(c, "x")->self));
	changes_free(c);
	profile_free(a);
	profile_free(b);
}

static void shares_are_compared_by_both_sums(void **state)
{
	struct profile *a = fixture_folded("x 5000\ny 5000\n");
	struct profile *b = fixture_folded("x 600\ny 400\n");
	struct changes *c;

	assert_int_equal(changes_build(&c, a, b, &(struct changes_options){ .normalize = true }),
			 0);
	assert_int_equal(find(c, "x")->self.value[CHANGE_AFTER], 6000);
	assert_true(find(c, "x")->self.z > 5 && find(c, "x")->self.z < 7);
	changes_free(c);
	profile_free(a);
	profile_free(b);
}

static struct profile *new_sized(int64_t value)
{
	struct profile_sample s = { .values = &value };
	struct profile *p;
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "space", "bytes"), 0);
	assert_int_equal(profile_add_stack(p, &id, 0, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static void values_without_a_sample_count_have_no_z(void **state)
{
	struct profile *a = new_sized(10), *b = new_sized(1000000);
	struct changes *c;

	assert_int_equal(changes_build(&c, a, b, &(struct changes_options){ 0 }), 0);
	assert_false(changes_counted(c));
	assert_int_equal(change_delta(changes_sum(c)), 999990);
	assert_true(changes_sum(c)->z == 0);
	changes_free(c);
	profile_free(a);
	profile_free(b);
}

TEST_GROUP(test_change, TEST(a_change_by_chance_is_noise),
	   TEST(a_longer_recording_is_no_change_after_normalization),
	   TEST(shares_are_compared_by_both_sums), TEST(values_without_a_sample_count_have_no_z))
