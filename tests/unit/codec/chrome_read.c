/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define THREAD "\"pid\":7,\"tid\":8"
#define CALL(name, ts, dur)                                                                        \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "," THREAD "}"
#define BEGIN(name, ts) "{\"ph\":\"B\",\"name\":\"" name "\",\"ts\":" #ts "," THREAD "}"
#define END(ts)         "{\"ph\":\"E\",\"ts\":" #ts "," THREAD "}"

static struct profile *read_text(const char *text)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	if (chrome_read(&p, text, strlen(text), NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static void assert_stacks(const char *text, const char *want)
{
	struct profile *p = read_text(text);

	fixture_assert_folded(p, 0, want);
	profile_free(p);
}

static void a_written_trace_is_read_back(void **state)
{
	const struct fixture_size size = {
		.n_samples = 100, .n_functions = 40, .n_mappings = 3, .n_labels = 2, .depth = 20
	};

	for (uint32_t seed = 0; seed < 10; seed++) {
		struct profile *p = fixture_random(seed, &size), *back;
		struct buf b = { 0 };

		assert_int_equal(
			chrome_write(p, &(struct format_options){ .value_num = 1 }, &b, NULL), 0);
		assert_int_equal(chrome_read(&back, b.data, b.len, NULL, NULL), 0);
		fixture_assert_alike(p, 1, back, 0);
		buf_fini(&b);
		profile_free(p);
		profile_free(back);
	}
}

static void calls_nest_by_time_in_any_order_of_events(void **state)
{
	assert_stacks("[" CALL("c", 2, 1) "," CALL("b", 1, 3) "," CALL("a", 0, 10) "]",
		      "a 7000\na;b 2000\na;b;c 1000\n");
	assert_stacks("{\"x\":1,\"traceEvents\":[" CALL("a", 0, 10) "," CALL("b", 1.5, 3) "]}",
		      "a 7000\na;b 3000\n");
	/* both last all the time: the event that ended last is the caller */
	assert_stacks("[" CALL("in", 0, 2) "," CALL("out", 0, 2) "]", "out;in 2000\n");
	assert_stacks("[" BEGIN("out", 0) "," BEGIN("in", 0) "," END(2) "," END(2) "]",
		      "out;in 2000\n");
	/* one after the other */
	assert_stacks("[" CALL("a", -3, 1) "," CALL("b", -2, 1) "]", "a 1000\nb 1000\n");
}

static void threads_have_their_names(void **state)
{
	struct profile *p = read_text(
		"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"sh\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\"," THREAD ",\"args\":{\"name\":\"w\"}},"
		"{\"ph\":\"C\",\"name\":\"heap\",\"ts\":1,\"args\":{\"bytes\":4}}," CALL("a", 0,
											 1) "]");
	struct profile_sample s = profile_sample(p, 0);
	uint32_t values[4];

	assert_int_equal(s.n_labels, 4);
	for (size_t i = 0; i < 4; i++)
		values[i] = s.labels[i].str;
	for (size_t i = 0; i < 4; i++) {
		const char *key = profile_string(p, s.labels[i].key);

		if (!strcmp(key, "comm"))
			assert_string_equal(profile_string(p, values[i]), "sh");
		else if (!strcmp(key, "thread"))
			assert_string_equal(profile_string(p, values[i]), "w");
		else
			assert_int_equal(s.labels[i].num, strcmp(key, "pid") ? 8 : 7);
	}
	assert_int_equal(profile_n_comments(p), 1);
	assert_string_equal(profile_string(p, profile_comment(p, 0)),
			    "1 events of the trace are not calls");
	profile_free(p);
}

static void events_that_do_not_nest_are_truncated_and_counted(void **state)
{
	struct profile *p = read_text("[" CALL("a", 0, 10) "," CALL("b", 5, 10) "," END(
		30) "," BEGIN("c", 31) "," CALL("d", 31, 9) "]");
	char *got = fixture_plain_folded(p, 0);

	assert_string_equal(got, "a 5000\na;b 5000\nc;d 9000\n");
	assert_int_equal(profile_n_comments(p), 2);
	assert_string_equal(profile_string(p, profile_comment(p, 0)),
			    "2 events of the trace have no matching begin or end");
	assert_string_equal(profile_string(p, profile_comment(p, 1)),
			    "1 events end after the enclosing one and were truncated");
	free(got);
	profile_free(p);
}

static void wrong_traces_are_refused(void **state)
{
	struct codec_limits l = codec_limits_default();

	fixture_assert_refused(chrome_read, "{}", NULL, -EBADMSG,
			       "not a Chrome trace: no \"traceEvents\" array");
	fixture_assert_refused(chrome_read, "[1]", NULL, -EBADMSG,
			       "byte 1: malformed Chrome trace");
	fixture_assert_refused(chrome_read, "[" CALL("a", 1e300, 1) "]", NULL, -EBADMSG,
			       "byte 57: number out of range");
	fixture_assert_refused(chrome_read, "[" CALL("a", 9e15, 1) "]", NULL, -EBADMSG,
			       "event 0: time is out of range");
	l.depth = 1;
	fixture_assert_refused(chrome_read, "[" CALL("a", 0, 3) "," CALL("b", 1, 1) "]", &l, -EFBIG,
			       "calls are nested more than 1 deep");
	l.samples = 1;
	fixture_assert_refused(chrome_read, "[" CALL("a", 0, 3) "," CALL("b", 1, 1) "]", &l, -EFBIG,
			       "more than 1 events");
}

TEST_GROUP(test_chrome_read, TEST(a_written_trace_is_read_back),
	   TEST(calls_nest_by_time_in_any_order_of_events), TEST(threads_have_their_names),
	   TEST(events_that_do_not_nest_are_truncated_and_counted), TEST(wrong_traces_are_refused))
