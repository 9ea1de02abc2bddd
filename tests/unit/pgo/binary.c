/* SPDX-License-Identifier: Apache-2.0 */
#include "pgo/binary.h"

#include <errno.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define FRAME(binary)                                                                              \
	(const struct fixture_frame[])                                                             \
	{                                                                                          \
		{ binary, "f", "f.c", 1, 1 },                                                      \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

static void the_executable_with_the_most_samples_is_chosen(void **state)
{
	struct profile *p = fixture_new("samples", "count");
	struct pgo_choice choice = { 0 };
	struct pgo_binary b;

	fixture_sample(p, FRAME("/bin/a"), 3);
	fixture_sample(p, FRAME("/bin/b"), 5);
	assert_int_equal(pgo_binary_choose(p, &choice, &b), 0);
	assert_string_equal(profile_string(p, b.file), "/bin/b");
	assert_int_equal(b.value, 5);
	assert_int_equal(b.all, 8);
	choice.name = "a";
	assert_int_equal(pgo_binary_choose(p, &choice, &b), 0);
	assert_string_equal(profile_string(p, b.file), "/bin/a");
	choice.name = "c";
	assert_int_equal(pgo_binary_choose(p, &choice, &b), -ENOENT);
	choice.value_num = 1;
	assert_int_equal(pgo_binary_choose(p, &choice, &b), -EINVAL);
	profile_free(p);
}

TEST_GROUP(test_binary, TEST(the_executable_with_the_most_samples_is_chosen))
