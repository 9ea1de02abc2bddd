/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/limits.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define NODE(id, name, more)                                                                       \
	"{\"id\":" #id ",\"callFrame\":{\"functionName\":\"" name                                  \
	"\",\"url\":\"file:///a.js\",\"lineNumber\":4}" more "}"
#define CHILDREN(...) ",\"children\":[" #__VA_ARGS__ "]"

static void a_sample_lasts_until_the_next(void **state)
{
	static const char text[] =
		"{\"timeDeltas\":[100,10,20,40],\"samples\":[3,2,3,3],\"startTime\":1000,"
		"\"endTime\":1200,\"nodes\":[" NODE(1, "(root)", CHILDREN(2)) "," NODE(
			2, "main", CHILDREN(3)) "," NODE(3, "", "") "]}";
	struct profile *p;
	struct profile_location l;

	assert_int_equal(cpuprofile_read(&p, text, strlen(text), NULL, NULL), 0);
	fixture_assert_folded(p, 0, "main 1\nmain;(anonymous) 3\n");
	fixture_assert_folded(p, 1, "main 20000\nmain;(anonymous) 80000\n");
	l = profile_location(p, profile_stack(p, profile_sample(p, 0).stack, NULL)[0]);
	assert_int_equal(l.kind, PROFILE_FRAME_V8);
	assert_int_equal(profile_function(p, l.lines[0].function)->start_line, 5);
	profile_free(p);
}

static void nodes_may_name_parents_instead_of_children(void **state)
{
	static const char text[] = "{\"nodes\":[" NODE(90, "b", ",\"parent\":7") "," NODE(
		7, "a", ",\"parent\":5") "," NODE(5, "(root)", "") "],\"samples\":[90,7]}";
	struct profile *p;

	assert_int_equal(cpuprofile_read(&p, text, strlen(text), NULL, NULL), 0);
	fixture_assert_folded(p, 0, "a 1\na;b 1\n");
	profile_free(p);
}

static void wrong_cpu_profiles_are_refused(void **state)
{
	struct codec_limits l = codec_limits_default();

	fixture_assert_refused(cpuprofile_read, "{}", NULL, -EBADMSG,
			       "not a V8 CPU profile: no \"nodes\" array");
	fixture_assert_refused(cpuprofile_read, "{\"nodes\":[{}]}", NULL, -EBADMSG,
			       "node 0 has no id");
	fixture_assert_refused(cpuprofile_read,
			       "{\"nodes\":[" NODE(2, "a", "") "," NODE(2, "b", "") "]}", NULL,
			       -EBADMSG, "two nodes have the id 2");
	fixture_assert_refused(cpuprofile_read,
			       "{\"nodes\":[" NODE(1, "a", "") "],\"samples\":[2]}", NULL, -EBADMSG,
			       "sample 0: node 2 does not exist");
	/* its own parent */
	fixture_assert_refused(cpuprofile_read,
			       "{\"nodes\":[" NODE(1, "a", ",\"parent\":1") "],\"samples\":[1]}",
			       NULL, -EFBIG, "node 1 is more than 16384 frames deep");
	l.samples = 1;
	fixture_assert_refused(cpuprofile_read,
			       "{\"nodes\":[" NODE(1, "a", "") "],\"samples\":[1,1]}", &l, -EFBIG,
			       "more than 1 samples");
	l.entries = 1;
	fixture_assert_refused(cpuprofile_read,
			       "{\"nodes\":[" NODE(1, "a", "") "," NODE(2, "b", "") "]}", &l,
			       -EFBIG, "more than 1 nodes");
}

TEST_GROUP(test_cpuprofile_read, TEST(a_sample_lasts_until_the_next),
	   TEST(nodes_may_name_parents_instead_of_children), TEST(wrong_cpu_profiles_are_refused))
