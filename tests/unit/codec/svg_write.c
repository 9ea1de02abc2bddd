/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/svg_write.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "codec/folded_read.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

/* What is drawn of folded stacks. */
static char *draw(const char *folded)
{
	const struct svg_options opt = { .title = "a <title> & \"more\"" };
	struct buf b = { 0 };
	struct profile *p;

	assert_int_equal(folded_read(&p, folded, strlen(folded), NULL, NULL), 0);
	assert_int_equal(svg_write(p, &opt, &b, NULL), 0);
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	profile_free(p);
	return (char *)b.data;
}

static void bars_are_as_wide_as_their_share_and_stand_in_the_order_of_names(void **state)
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

static void what_strangers_call_their_functions_stays_text(void **state)
{
	char *svg = draw("a<b>&\"c\";\xff\x01\xef\xbf\xbf x 1\n");

	assert_non_null(strstr(svg, "<title>a&lt;b>&amp;&quot;c&quot; (1 count, 100.00%)"));
	assert_non_null(strstr(svg, "<title>\?\?\? x ("));
	assert_non_null(strstr(svg, ">a &lt;title> &amp; &quot;more&quot;</text>"));
	free(svg);
}

static void names_are_cut_where_characters_end(void **state)
{
	/* 30 pixels wide: four letters */
	char *svg = draw("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6 33\nrest 967\n");

	assert_non_null(strstr(svg, ">\xc3\xa4\xc3\xb6..</text>"));
	free(svg);
}

static void what_is_too_narrow_is_left_out_and_so_is_what_it_calls(void **state)
{
	char *svg = draw("wide 100000\nnarrow;called 1\n");

	assert_non_null(strstr(svg, "<title>wide"));
	assert_null(strstr(svg, "<title>narrow"));
	assert_null(strstr(svg, "<title>called"));
	free(svg);
}

static void a_profile_of_nothing_is_an_empty_picture(void **state)
{
	const struct svg_options opt = { 0 }, other = { .value_num = 7 };
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

TEST_GROUP(test_svg_write, TEST(bars_are_as_wide_as_their_share_and_stand_in_the_order_of_names),
	   TEST(what_strangers_call_their_functions_stays_text),
	   TEST(names_are_cut_where_characters_end),
	   TEST(what_is_too_narrow_is_left_out_and_so_is_what_it_calls),
	   TEST(a_profile_of_nothing_is_an_empty_picture))
