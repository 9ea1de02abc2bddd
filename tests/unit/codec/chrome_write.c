/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/chrome/chrome.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "codec/text/text.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void assert_written(const struct profile *p, size_t value_num, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(
		chrome_write(p, &(struct format_options){ .value_num = value_num }, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static void a_frame_is_one_event_that_spans_its_callees(void **state)
{
	static const char folded[] = "main;b 2\nmain;a;c 1\nmain;a 4\n";
	struct profile *p;

	assert_int_equal(folded_read(&p, folded, strlen(folded), NULL, NULL), 0);
	assert_written(
		p, 0,
		"{\"displayTimeUnit\":\"ms\",\"traceEvents\":["
		"{\"ph\":\"X\",\"name\":\"b\",\"cat\":\"unknown\",\"ts\":0,\"dur\":2,\"pid\":0,"
		"\"tid\":0},"
		"{\"ph\":\"X\",\"name\":\"c\",\"cat\":\"unknown\",\"ts\":6,\"dur\":1,\"pid\":0,"
		"\"tid\":0},"
		"{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"unknown\",\"ts\":2,\"dur\":5,\"pid\":0,"
		"\"tid\":0},"
		"{\"ph\":\"X\",\"name\":\"main\",\"cat\":\"unknown\",\"ts\":0,\"dur\":7,\"pid\":0,"
		"\"tid\":0}]}");
	profile_free(p);
}

static void each_thread_is_a_row_with_its_name(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(chrome_write(p, &(struct format_options){ .value_num = 1 }, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_non_null(strstr((char *)b.data, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,"
					       "\"tid\":0,\"args\":{\"name\":\"sh\"}}"));
	assert_non_null(strstr((char *)b.data,
			       "\"name\":\"inlined\",\"cat\":\"native\",\"ts\":0,\"dur\":0.03,"
			       "\"pid\":7,\"tid\":0,\"args\":{\"file\":\"work.h\",\"line\":6}}"));
	assert_int_equal(chrome_write(p, &(struct format_options){ .value_num = 2 }, &b, NULL),
			 -EINVAL);
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_chrome_write, TEST(a_frame_is_one_event_that_spans_its_callees),
	   TEST(each_thread_is_a_row_with_its_name))
