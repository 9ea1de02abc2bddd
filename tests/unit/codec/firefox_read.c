/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/codec/firefox/firefox_tables.c */
#include "codec/firefox/firefox.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void a_written_profile_is_read_back(void **state)
{
	const struct fixture_size size = {
		.n_samples = 100, .n_functions = 40, .n_mappings = 3, .n_labels = 2, .depth = 20
	};

	for (uint32_t i = 0; i < 20; i++) {
		struct profile *p = fixture_random(i / 2, &size), *back;
		struct buf b = { 0 };

		assert_int_equal(
			firefox_write(p,
				      &(struct format_options){ .value_num = i % 2, .title = "x" },
				      &b, NULL),
			0);
		assert_int_equal(firefox_read(&back, b.data, b.len, NULL, NULL), 0);
		fixture_assert_alike(p, i % 2, back, 0);
		buf_fini(&b);
		profile_free(p);
		profile_free(back);
	}
}

#define TABLES                                                                                     \
	"\"stackTable\":{\"prefix\":[null,0],\"frame\":[0,1],\"length\":2},"                       \
	"\"frameTable\":{\"func\":[0,1],\"line\":[null,12],\"address\":[4096,8192],"               \
	"\"category\":[1,0],\"length\":2},"                                                        \
	"\"funcTable\":{\"name\":[0,1],\"source\":[null,0],\"resource\":[0,-1],\"length\":2},"     \
	"\"resourceTable\":{\"lib\":[0],\"length\":1},"                                            \
	"\"stringArray\":[\"main\",\"work\",\"work.rs\"]"
#define META                                                                                       \
	"\"meta\":{\"startTime\":5000.5,\"categories\":[{\"name\":\"Other\"},"                     \
	"{\"name\":\"native\"}]},\"libs\":[{\"name\":\"a\",\"path\":\"/bin/a\"}]"
#define SAMPLES                                                                                    \
	"\"samples\":{\"stack\":[1,null,0],\"timeDeltas\":[1,2,3],\"weight\":null,"                \
	"\"weightType\":\"samples\"}"

static void assert_small(const char *text)
{
	struct profile *p;
	struct profile_sample s;
	struct profile_location l;
	struct err err = { 0 };

	if (firefox_read(&p, text, strlen(text), NULL, &err) < 0)
		fail_msg("%s", err.msg);
	fixture_assert_folded(p, 0, "main 1\nmain;work 1\n");
	assert_int_equal(profile_n_sample_types(p), 1);
	s = profile_sample(p, 1);
	assert_int_equal(s.n_times, 1);
	assert_int_equal(s.times[0], 5006500000);
	l = profile_location(p, profile_stack(p, s.stack, NULL)[0]);
	assert_int_equal(l.kind, PROFILE_FRAME_NATIVE);
	assert_int_equal(l.address, 4096);
	assert_string_equal(profile_string(p, profile_mapping(p, l.mapping)->file), "/bin/a");
	l = profile_location(p, profile_stack(p, profile_sample(p, 0).stack, NULL)[0]);
	assert_int_equal(l.lines[0].line, 12);
	assert_string_equal(profile_string(p, profile_function(p, l.lines[0].function)->file),
			    "work.rs");
	profile_free(p);
}

static void tables_belong_to_a_thread_or_are_shared(void **state)
{
	assert_small("{\"threads\":[{\"tid\":8," TABLES ",\"pid\":\"7\",\"name\":\"w\"," SAMPLES
		     "}],\"shared\":{\"sources\":{\"filename\":[2]}}," META "}");
	assert_small("{" META ",\"shared\":{" TABLES ",\"sources\":{\"filename\":[2]}},"
		     "\"threads\":[{\"tid\":8,\"pid\":7," SAMPLES "}]}");
}

static void wrong_files_are_refused(void **state)
{
	struct codec_limits l = codec_limits_default();

	fixture_assert_refused(firefox_read, "{}", NULL, -EBADMSG,
			       "not a Firefox profile: no \"threads\" array");
	fixture_assert_refused(firefox_read, "{\"threads\":[1]}", NULL, -EBADMSG,
			       "byte 12: malformed Firefox profile");
	/* a stack that is its own caller */
	fixture_assert_refused(firefox_read,
			       "{\"threads\":[{\"stackTable\":{\"prefix\":[0],\"frame\":[0]},"
			       "\"samples\":{\"stack\":[0]}}]}",
			       NULL, -EFBIG, "thread 0: stack with more than 16384 frames");
	l.samples = 1;
	fixture_assert_refused(firefox_read, "{" META ",\"threads\":[{" TABLES "," SAMPLES "}]}",
			       &l, -EFBIG, "more than 1 samples");
	l.entries = 1;
	fixture_assert_refused(firefox_read, "{" META "}", &l, -EFBIG, "more than 1 categories");
	fixture_assert_refused(firefox_read,
			       "{\"x\":0"
			       ",\"threads\":[{" TABLES "," SAMPLES "}]}",
			       &l, -EFBIG, "more than 1 values in a column of stackTable");
}

static void references_to_missing_rows_are_ignored(void **state)
{
	static const char text[] = "{\"threads\":[{\"stackTable\":{\"prefix\":[null],"
				   "\"frame\":[9]},\"samples\":{\"stack\":[0,7]}}]}";
	struct profile *p;

	assert_int_equal(firefox_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 1);
	profile_free(p);
}

static void only_samples_state_a_weight_type(void **state)
{
	static const char text[] = "{\"threads\":[{\"stackTable\":{\"prefix\":[null],\"frame\":[9],"
				   "\"weightType\":\"tracing-ms\"},\"samples\":{\"stack\":[0]}}]}";
	struct profile *p;

	assert_int_equal(firefox_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_sample_types(p), 1);
	assert_int_equal(profile_sample(p, 0).values[0], 1);
	profile_free(p);
}

TEST_GROUP(test_firefox_read, TEST(a_written_profile_is_read_back),
	   TEST(tables_belong_to_a_thread_or_are_shared), TEST(wrong_files_are_refused),
	   TEST(references_to_missing_rows_are_ignored), TEST(only_samples_state_a_weight_type))
