/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes are converted to base64 and hexadecimal text and back. */
#include "base/base64.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static void assert_base64(const char *text, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(base64_decode(text, strlen(text), &b), 0);
	assert_int_equal(b.len, strlen(want));
	if (b.len)
		assert_memory_equal(b.data, want, b.len);
	buf_fini(&b);
}

static void base64_is_read_with_and_without_padding(void **state)
{
	assert_base64("", "");
	assert_base64("Zg==", "f");
	assert_base64("Zm8=", "fo");
	assert_base64("Zm9v", "foo");
	assert_base64("Zm9vYg", "foob");
}

static void written_text_is_read_back(void **state)
{
	/* the test vectors of RFC 4648, section 10 */
	static const struct {
		const char *plain, *coded;
	} cases[] = { { "", "" },        { "f", "Zg==" },          { "fo", "Zm8=" },
		      { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfd", "//79" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf coded = { 0 };

		base64_encode(cases[i].plain, strlen(cases[i].plain), &coded);
		buf_put_byte(&coded, 0);
		assert_string_equal((char *)coded.data, cases[i].coded);
		assert_base64((char *)coded.data, cases[i].plain);
		buf_fini(&coded);
	}
}

static void both_alphabets_of_base64_are_read(void **state)
{
	assert_base64("+/+/", "\xfb\xff\xbf");
	assert_base64("-_-_", "\xfb\xff\xbf");
}

static void hexadecimal_digits_have_either_case(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(hex_decode("00fFa9", 6, &b), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "\x00\xff\xa9", 3);
	buf_fini(&b);
}

static void refuses_characters_that_are_no_digits(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(base64_decode("Zm 9v", 5, &b), -EBADMSG);
	assert_int_equal(base64_decode("Z", 1, &b), -EBADMSG);
	assert_int_equal(base64_decode("=Zg=", 4, &b), -EBADMSG);
	assert_int_equal(hex_decode("0g", 2, &b), -EBADMSG);
	assert_int_equal(hex_decode("abc", 3, &b), -EBADMSG);
	buf_fini(&b);
}

int test_base64(void);

int test_base64(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_text_is_read_back),
		cmocka_unit_test(base64_is_read_with_and_without_padding),
		cmocka_unit_test(both_alphabets_of_base64_are_read),
		cmocka_unit_test(hexadecimal_digits_have_either_case),
		cmocka_unit_test(refuses_characters_that_are_no_digits),
	};

	return TEST_RUN("base/base64", tests, NULL, NULL);
}
