/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/svg/svg_write.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "codec/text/text.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

/* Returns the picture of folded stacks, which the caller frees. */
static char *draw(const char *folded)
{
	const struct format_options opt = { .title = "a <title> & \"more\"" };
	struct buf b = { 0 };
	struct profile *p;

	assert_int_equal(folded_read(&p, folded, strlen(folded), NULL, NULL), 0);
	assert_int_equal(svg_write(p, &opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	profile_free(p);
	return (char *)b.data;
}

static void bars_are_as_wide_as_their_share_and_sorted_by_name(void **state)
{
	char *svg = draw("main;zero 1\nmain;alpha 3\n");

	assert_non_null(strstr(svg, "<title>all (4 count, 100.00%)</title><rect x=\"10.00\" "
				    "y=\"82\" width=\"1180.00\""));
	assert_non_null(strstr(svg, "<title>main (4 count, 100.00%)</title><rect x=\"10.00\" "
				    "y=\"65\" width=\"1180.00\""));
	assert_non_null(strstr(svg, "<title>alpha (3 count, 75.00%)</title><rect x=\"10.00\" "
				    "y=\"48\" width=\"885.00\""));
	assert_non_null(strstr(svg, "<title>zero (1 count, 25.00%)</title><rect x=\"895.00\" "
				    "y=\"48\" width=\"295.00\""));
	free(svg);
}

static void markup_in_function_names_remains_text(void **state)
{
	char *svg = draw("a<b>&\"c\";\xff\x01\xef\xbf\xbf x 1\n");

	assert_non_null(strstr(svg, "<title>a&lt;b&gt;&amp;&quot;c&quot; (1 count, 100.00%)"));
	assert_non_null(strstr(svg, "<title>\xef\xbf\xbd   x ("));
	assert_non_null(strstr(svg, ">a &lt;title&gt; &amp; &quot;more&quot;</text>"));
	free(svg);
}

static void names_are_truncated_between_characters(void **state)
{
	/* 30 pixels wide: four letters */
	char *svg = draw("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6 33\nrest 967\n");

	assert_non_null(strstr(svg, ">\xc3\xa4\xc3\xb6..</text>"));
	free(svg);
}

static void bars_that_are_too_narrow_are_omitted_with_their_callees(void **state)
{
	char *svg = draw("wide 100000\nnarrow;called 1\n");

	assert_non_null(strstr(svg, "<title>wide"));
	assert_null(strstr(svg, "<title>narrow"));
	assert_null(strstr(svg, "<title>called"));
	free(svg);
}

static void an_empty_profile_is_an_empty_picture(void **state)
{
	const struct format_options opt = { 0 }, other = { .value_num = 7 };
	struct profile *p = fixture_small(), *empty;
	struct buf b = { 0 };

	assert_int_equal(svg_write(p, &other, &b, NULL), -EINVAL);
	profile_free(p);
	assert_int_equal(profile_new(&empty), 0);
	assert_int_equal(profile_add_sample_type(empty, "cpu", "nanoseconds"), 0);
	assert_int_equal(svg_write(empty, &opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_null(strstr((char *)b.data, "<title>"));
	assert_non_null(strstr((char *)b.data, "</svg>"));
	buf_fini(&b);
	profile_free(empty);
}

TEST_GROUP(test_svg_write, TEST(bars_are_as_wide_as_their_share_and_sorted_by_name),
	   TEST(markup_in_function_names_remains_text),
	   TEST(names_are_truncated_between_characters),
	   TEST(bars_that_are_too_narrow_are_omitted_with_their_callees),
	   TEST(an_empty_profile_is_an_empty_picture))
