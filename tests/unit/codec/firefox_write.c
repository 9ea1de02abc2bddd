/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/firefox/firefox.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static char *written(const struct profile *p, size_t value_num)
{
	struct buf b = { 0 };

	assert_int_equal(
		firefox_write(p, &(struct format_options){ .value_num = value_num, .title = "x" },
			      &b, NULL),
		0);
	buf_put_byte(&b, 0);
	return (char *)b.data;
}

static void assert_has(const char *json, const char *want)
{
	if (!strstr(json, want))
		fail_msg("\"%s\" is missing", want);
}

static void stacks_refer_to_their_callers_and_to_frames(void **state)
{
	struct profile *p = fixture_small();
	char *json = written(p, 1);

	/* main, work, inlined; the other thread: main, [lib.so+0x234], vfs_read */
	assert_has(json, "\"stackTable\":{\"prefix\":[null,0,1],\"frame\":[0,1,2],");
	assert_has(json, "\"weightType\":\"tracing-ms\",\"stack\":[2],\"time\":[3e-05],"
			 "\"weight\":[3e-05],\"length\":1");
	assert_has(json, "\"processName\":\"sh\",\"name\":\"sh\",\"isMainThread\":false,"
			 "\"pid\":\"7\",\"tid\":0");
	assert_has(json,
		   "\"stringArray\":[\"main\",\"\",\"work\",\"work.c\",\"inlined\",\"work.h\"]");
	assert_has(json, "\"stringArray\":[\"main\",\"\",\"[lib.so+0x234]\",\"vfs_read\"]");
	assert_has(json, "\"funcTable\":{\"name\":[0,2,4],\"fileName\":[null,3,5],");
	free(json);
	profile_free(p);
}

static void values_without_a_time_unit_are_counts(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	char *json = written(p, 0);

	assert_has(json,
		   "\"weightType\":\"samples\",\"stack\":[2],\"time\":[0.003],\"weight\":[3]");
	free(json);
	assert_int_equal(firefox_write(p, &(struct format_options){ .value_num = 9, .title = NULL },
				       &b, NULL),
			 -EINVAL);
	buf_fini(&b);
	profile_free(p);
}

static void samples_with_times_appear_when_they_were_taken(void **state)
{
	const uint64_t times[] = { 1000005000000, 1000001000000 };
	const int64_t values[] = { 20 };
	struct profile_sample s = { .values = values, .n_times = 2, .times = times };
	struct profile *p;
	uint32_t location;
	char *json;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "milliseconds"), 0);
	profile_meta(p)->time_ns = 1000000000000;
	location = fixture_location(p, PROFILE_NONE, 1, "f");
	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	json = written(p, 0);
	assert_has(json, "\"stack\":[0,0],\"time\":[1,5],\"weight\":[10,10],\"length\":2");
	assert_has(json, "\"startTime\":1000000,");
	free(json);
	profile_free(p);
}

TEST_GROUP(test_firefox_write, TEST(stacks_refer_to_their_callers_and_to_frames),
	   TEST(values_without_a_time_unit_are_counts),
	   TEST(samples_with_times_appear_when_they_were_taken))
