/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static void tells_how_much_is_valid(void **state)
{
	static const struct {
		const char *s;
		size_t valid;
	} cases[] = {
		{ "", 0 },
		{ "plain", 5 },
		{ "gr\xc3\xbc\xc3\x9f", 6 },
		{ "\xf0\x9f\x94\xa5", 4 },
		{ "ab\xff", 2 },
		{ "ab\xc3", 2 },            /* cut short */
		{ "a\xc0\xaf", 1 },         /* overlong */
		{ "a\xed\xa0\x80", 1 },     /* a surrogate */
		{ "a\xf4\x90\x80\x80", 1 }, /* beyond Unicode */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(utf8_valid(cases[i].s, strlen(cases[i].s)), cases[i].valid);
}

static void bytes_that_are_not_utf8_are_replaced_one_by_one(void **state)
{
	static const char in[] = "a\xff\xfe"
				 "b\xc3\xbc\xc3";
	struct buf out = { 0 };

	utf8_put(&out, in, sizeof(in) - 1);
	buf_put_byte(&out, 0);
	assert_string_equal((char *)out.data, "a\xef\xbf\xbd\xef\xbf\xbd"
					      "b\xc3\xbc\xef\xbf\xbd");
	buf_fini(&out);
}

TEST_GROUP(test_utf8, TEST(tells_how_much_is_valid),
	   TEST(bytes_that_are_not_utf8_are_replaced_one_by_one))
