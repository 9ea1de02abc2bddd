/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/text/text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void assert_folded(const struct profile *p, const struct format_options *opt,
			  const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(folded_write(p, opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static void kernel_and_inlined_frames_are_marked(void **state)
{
	struct profile *p = fixture_small();

	assert_folded(p, NULL,
		      "main;[lib.so+0x234];vfs_read_[k] 1\n"
		      "main;work;inlined_[i] 3\n");
	profile_free(p);
}

static void the_comm_is_the_root_on_request(void **state)
{
	struct profile *p = fixture_small();

	assert_folded(p, &(struct format_options){ .root_label = "comm", .value_num = 1 },
		      "main;[lib.so+0x234];vfs_read_[k] 10\n"
		      "sh;main;work;inlined_[i] 30\n");
	profile_free(p);
}

static void stacks_of_the_same_text_are_one_line(void **state)
{
	struct profile *p;
	int64_t value = 2;
	struct profile_sample s = { .values = &value };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t loc = fixture_location(p, PROFILE_NONE, i, "a;b\nc");

		assert_int_equal(profile_add_stack(p, &loc, 1, &s.stack), 0);
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	assert_folded(p, NULL, "a:b c 6\n");
	profile_free(p);
}

static void an_unknown_sample_type_is_refused(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct err err = { 0 };

	assert_int_equal(folded_write(p, &(struct format_options){ .value_num = 2 }, &b, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "the profile has no sample type 3");
	assert_int_equal(b.len, 0);
	profile_free(p);
}

TEST_GROUP(test_folded_write, TEST(kernel_and_inlined_frames_are_marked),
	   TEST(the_comm_is_the_root_on_request), TEST(stacks_of_the_same_text_are_one_line),
	   TEST(an_unknown_sample_type_is_refused))
