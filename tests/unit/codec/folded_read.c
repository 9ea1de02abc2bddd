/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/text/text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void assert_rewritten(const char *text, size_t len, const char *want)
{
	struct profile *p;
	struct buf b = { 0 };

	assert_int_equal(folded_read(&p, text, len, NULL, NULL), 0);
	assert_int_equal(folded_write(p, NULL, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
	profile_free(p);
}

static void folded_text_is_read_back(void **state)
{
	static const char text[] = "a b;c 1\n"
				   "main;[lib.so+0x234];vfs_read_[k] 10\n"
				   "sh;main;work;inlined_[i];twice_[i] 30\n";

	assert_rewritten(text, strlen(text), text);
	assert_rewritten("x;y 1\r\n\nx;y 2", 13, "x;y 3\n");
	assert_rewritten("_[i] 1\n_[k];_[x] 2\n", 19, "_[i] 1\n_[k];_[x] 2\n");
	assert_rewritten("", 0, "");
}

static void random_profiles_are_read_back_as_text(void **state)
{
	const struct fixture_size size = {
		.n_samples = 200, .n_functions = 60, .n_mappings = 3, .depth = 30
	};

	for (uint32_t seed = 0; seed < 10; seed++) {
		struct profile *p = fixture_random(seed, &size);
		struct buf b = { 0 };

		assert_int_equal(folded_write(p, NULL, &b, NULL), 0);
		buf_put_byte(&b, 0);
		assert_rewritten((const char *)b.data, b.len - 1, (const char *)b.data);
		buf_fini(&b);
		profile_free(p);
	}
}

static void inlined_frames_share_a_location(void **state)
{
	struct profile_location l;
	struct profile *p;
	size_t depth;
	uint32_t leaf;

	assert_int_equal(folded_read(&p, "main;work;in_[i];k_[k] 3", 24, NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 1);
	leaf = profile_stack(p, profile_sample(p, 0).stack, &depth)[0];
	assert_int_equal(depth, 3);
	assert_int_equal(profile_location(p, leaf).kind, PROFILE_FRAME_KERNEL);
	l = profile_location(p, profile_stack(p, profile_sample(p, 0).stack, NULL)[1]);
	assert_int_equal(l.n_lines, 2);
	assert_string_equal(profile_string(p, profile_function(p, l.lines[0].function)->name),
			    "in");
	profile_free(p);
}

static void lines_without_a_count_are_refused(void **state)
{
	fixture_assert_refused(folded_read, "a;b 1\na;b\n", NULL, -EBADMSG,
			       "line 2: expected a count at the end of the line");
	fixture_assert_refused(folded_read, "a;b \n", NULL, -EBADMSG,
			       "line 1: expected a count at the end of the line");
	fixture_assert_refused(folded_read, "a;b 1x\n", NULL, -EBADMSG,
			       "line 1: expected a count at the end of the line");
	fixture_assert_refused(folded_read, "a;b 9223372036854775808\n", NULL, -EBADMSG,
			       "line 1: expected a count at the end of the line");
}

static void limits_on_folded_text_are_enforced(void **state)
{
	struct codec_limits l = codec_limits_default();

	l.depth = 2;
	fixture_assert_refused(folded_read, "a;b;c;d 1\n", &l, -EFBIG,
			       "line 1: stack with more than 2 frames");
	l.samples = 1;
	fixture_assert_refused(folded_read, "a 1\nb 1\n", &l, -EFBIG, "line 2: more than 1 stacks");
	l.bytes = 5;
	fixture_assert_refused(folded_read, "a;b;c 1\n", &l, -EFBIG,
			       "file exceeds the limit of 5 bytes");
}

TEST_GROUP(test_folded_read, TEST(folded_text_is_read_back),
	   TEST(random_profiles_are_read_back_as_text), TEST(inlined_frames_share_a_location),
	   TEST(lines_without_a_count_are_refused), TEST(limits_on_folded_text_are_enforced))
