/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/page/page_json.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void the_page_has_the_profile_as_a_tree(void **state)
{
	static const char want[] =
		"{\"version\":1,\"unit\":\"nanoseconds\",\"type\":\"cpu\",\"period_ns\":10,"
		"\"time_ns\":1700000000000000000,\"duration_ns\":10000000000,"
		"\"title\":\"\\u003c/script>\",\"total\":40,"
		"\"strings\":[\"\",\"main\",\"native\",\"/bin/prog\",\"work\",\"work.c\","
		"\"inlined\",\"work.h\",\"[lib.so+0x234]\",\"/lib/lib.so\",\"vfs_read\","
		"\"kernel\",\"[kernel.kallsyms]\"],"
		"\"frames\":[[1,0,0,2,3],[4,5,10,2,3],[6,7,5,2,3,1],[8,0,0,2,9],[10,0,0,11,12]],"
		"\"nodes\":{\"parent\":[-1,0,1,2,1,4],\"frame\":[-1,0,1,2,3,4],"
		"\"self\":[0,0,0,30,0,10]}}";
	const struct format_options opt = { .title = "</script>", .value_num = 1 };
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(page_json_write(p, &opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
	profile_free(p);
}

static void the_program_name_is_no_frame(void **state)
{
	const struct format_options opt = { .root_label = "comm" };
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(page_json_write(p, &opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_non_null(strstr((const char *)b.data, "\"strings\":[\"\",\"sh\",\"group\""));
	assert_non_null(strstr((const char *)b.data, "\"frames\":[[1,0,0,2,0]"));
	buf_fini(&b);
	profile_free(p);
}

static void the_page_refuses_an_unknown_sample_type(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct err err = { 0 };

	assert_int_equal(page_json_write(p, &(struct format_options){ .value_num = 2 }, &b, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "the profile has no sample type 3");
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_page_json, TEST(the_page_has_the_profile_as_a_tree),
	   TEST(the_program_name_is_no_frame), TEST(the_page_refuses_an_unknown_sample_type))
