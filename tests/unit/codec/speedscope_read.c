/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/speedscope/speedscope.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void random_profiles_are_read_back_by_name(void **state)
{
	const struct fixture_size size = {
		.n_samples = 100, .n_functions = 40, .n_mappings = 3, .n_labels = 2, .depth = 20
	};

	for (uint32_t seed = 0; seed < 10; seed++) {
		struct profile *p = fixture_random(seed, &size), *back;
		struct buf b = { 0 };

		assert_int_equal(speedscope_write(p, &(struct format_options){ 0 }, &b, NULL), 0);
		assert_int_equal(speedscope_read(&back, b.data, b.len, NULL, NULL), 0);
		fixture_assert_alike(p, 0, back, 0);
		fixture_assert_alike(p, 1, back, 1);
		buf_fini(&b);
		profile_free(p);
		profile_free(back);
	}
}

static void members_may_come_in_any_order(void **state)
{
	static const char text[] =
		"{\"profiles\":[{\"weights\":[1.4,2],\"samples\":[[0],[1,0]],\"type\":\"sampled\","
		"\"name\":\"x\",\"unit\":\"none\"}],\"other\":[{}],"
		"\"shared\":{\"frames\":[{\"line\":3,\"name\":\"a\",\"col\":1},"
		"{\"file\":\"b.py\",\"name\":\"b\"}]}}";
	struct profile *p;
	struct profile_location l;

	assert_int_equal(speedscope_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_sample(p, 0).values[0], 1);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).unit), "count");
	l = profile_location(p, profile_stack(p, profile_sample(p, 1).stack, NULL)[0]);
	assert_int_equal(l.lines[0].line, 3);
	assert_int_equal(l.lines[0].column, 1);
	l = profile_location(p, profile_stack(p, profile_sample(p, 1).stack, NULL)[1]);
	assert_int_equal(l.kind, PROFILE_FRAME_PYTHON);
	profile_free(p);
}

static void foreign_profiles_are_threads_and_keep_their_seconds(void **state)
{
	static const char text[] =
		"{\"exporter\":\"py-spy@0.4\",\"profiles\":[{\"type\":\"sampled\","
		"\"name\":\"main\",\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[0.005]},"
		"{\"type\":\"sampled\",\"name\":\"other\",\"unit\":\"seconds\","
		"\"samples\":[[0]],\"weights\":[1.25]}],"
		"\"shared\":{\"frames\":[{\"name\":\"f\"}]}}";
	struct profile_sample s;
	struct profile *p;

	assert_int_equal(speedscope_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_sample_types(p), 1);
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).type), "cpu");
	assert_string_equal(profile_string(p, profile_sample_type(p, 0).unit), "nanoseconds");
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_sample(p, 0).values[0], 5000000);
	s = profile_sample(p, 1);
	assert_int_equal(s.values[0], 1250000000);
	assert_int_equal(s.n_labels, 1);
	assert_string_equal(profile_string(p, s.labels[0].key), "thread");
	assert_string_equal(profile_string(p, s.labels[0].str), "other");
	profile_free(p);
}

#define FRAMES "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]}"
#define PROFILE(samples, weights)                                                                  \
	"{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"samples\":" samples                     \
	",\"weights\":" weights "}]}"

static void wrong_files_are_refused(void **state)
{
	fixture_assert_refused(speedscope_read, "{}", NULL, -EBADMSG,
			       "not a speedscope file: no \"shared.frames\" array");
	fixture_assert_refused(speedscope_read, "{\"shared\":[]}", NULL, -EBADMSG,
			       "byte 10: malformed speedscope file");
	fixture_assert_refused(speedscope_read, PROFILE("[[2]]", "[1]"), NULL, -EBADMSG,
			       "sample 0: frame 2 does not exist");
	fixture_assert_refused(speedscope_read, PROFILE("[[0],[-1]]", "[1]"), NULL, -EBADMSG,
			       "sample 1: frame -1 does not exist");
	fixture_assert_refused(speedscope_read, PROFILE("[[0]]", "[]"), NULL, -EBADMSG,
			       "profile 0 has 1 samples but 0 weights");
	fixture_assert_refused(speedscope_read, "{" FRAMES ",\"profiles\":[{\"type\":\"other\"}]}",
			       NULL, -ENOTSUP, "profile 0 is neither sampled nor evented");
}

#define EVENTED(events)                                                                            \
	"{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"milliseconds\","               \
	"\"startValue\":5,\"endValue\":9,\"events\":[" events "]}]}"
#define ENTER(frame, at) "{\"type\":\"O\",\"frame\":" #frame ",\"at\":" #at "}"
#define LEAVE(frame, at) "{\"type\":\"C\",\"frame\":" #frame ",\"at\":" #at "}"

static void the_time_between_events_belongs_to_the_open_stack(void **state)
{
	static const char text[] = EVENTED(ENTER(0, 5) "," ENTER(1, 6) "," LEAVE(1, 8.5) "," LEAVE(
		0, 9) "," ENTER(1, 20) "," LEAVE(1, 21));
	struct profile *p;

	assert_int_equal(speedscope_read(&p, text, strlen(text), NULL, NULL), 0);
	fixture_assert_folded(p, 0, "a 1500000\na;b 2500000\nb 1000000\n");
	profile_free(p);
}

static void events_that_do_not_nest_are_refused(void **state)
{
	fixture_assert_refused(speedscope_read,
			       EVENTED(ENTER(0, 5) "," ENTER(1, 6) "," LEAVE(0, 7)), NULL, -EBADMSG,
			       "profile 0, event 2: exits a frame that is not the innermost one");
	fixture_assert_refused(speedscope_read, EVENTED(LEAVE(0, 7)), NULL, -EBADMSG,
			       "profile 0, event 0: exits a frame that is not the innermost one");
	fixture_assert_refused(speedscope_read, EVENTED(ENTER(0, 5) "," ENTER(1, 4)), NULL,
			       -EBADMSG, "profile 0, event 1: earlier than the previous event");
	fixture_assert_refused(speedscope_read, EVENTED("{\"type\":\"X\",\"at\":1}"), NULL,
			       -EBADMSG, "profile 0, event 0: type is neither O nor C");
	fixture_assert_refused(speedscope_read, EVENTED(ENTER(7, 5)), NULL, -EBADMSG,
			       "sample 0: frame 7 does not exist");
}

static void limits_on_speedscope_files_are_enforced(void **state)
{
	struct codec_limits l = codec_limits_default();

	l.depth = 1;
	fixture_assert_refused(speedscope_read, PROFILE("[[0,1]]", "[1]"), &l, -EFBIG,
			       "sample 0: more than 1 frames");
	l.entries = 2;
	l.depth = 4;
	fixture_assert_refused(speedscope_read, PROFILE("[[0,1],[1]]", "[1,1]"), &l, -EFBIG,
			       "stacks exceed the limit of 2 frames in total");
	l.samples = 1;
	fixture_assert_refused(speedscope_read, PROFILE("[[0],[1]]", "[1,1]"), &l, -EFBIG,
			       "more than 1 samples");
	l.entries = 1;
	fixture_assert_refused(speedscope_read, PROFILE("[]", "[]"), &l, -EFBIG,
			       "more than 1 frames");
	l.bytes = 10;
	fixture_assert_refused(speedscope_read, PROFILE("[]", "[]"), &l, -EFBIG,
			       "file exceeds the limit of 10 bytes");
}

TEST_GROUP(test_speedscope_read, TEST(random_profiles_are_read_back_by_name),
	   TEST(members_may_come_in_any_order),
	   TEST(foreign_profiles_are_threads_and_keep_their_seconds), TEST(wrong_files_are_refused),
	   TEST(the_time_between_events_belongs_to_the_open_stack),
	   TEST(events_that_do_not_nest_are_refused), TEST(limits_on_speedscope_files_are_enforced))
