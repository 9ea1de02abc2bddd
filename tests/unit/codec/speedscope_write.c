/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/speedscope/speedscope.h"

#include <string.h>

#include "base/buf.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void each_sample_type_is_a_profile(void **state)
{
	static const char want[] =
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"cameo\",\"name\":\"a \\\"title\\\"\",\"activeProfileIndex\":0,"
		"\"shared\":{\"frames\":[{\"name\":\"main\"},"
		"{\"name\":\"inlined\",\"file\":\"work.h\",\"line\":6},"
		"{\"name\":\"work\",\"file\":\"work.c\",\"line\":12,\"col\":3},"
		"{\"name\":\"[lib.so+0x234]\"},{\"name\":\"vfs_read\"}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"none\","
		"\"samples\":[[0,2,1],[0,3,4]],\"weights\":[3,1],\"startValue\":0,\"endValue\":4},"
		"{\"type\":\"sampled\",\"name\":\"cpu\",\"unit\":\"nanoseconds\","
		"\"samples\":[[0,2,1],[0,3,4]],\"weights\":[30,10],\"startValue\":0,"
		"\"endValue\":40}]}";
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(
		speedscope_write(p, &(struct format_options){ .title = "a \"title\"" }, &b, NULL),
		0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_speedscope_write, TEST(each_sample_type_is_a_profile))
