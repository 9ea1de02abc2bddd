/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>

#include "base/buf.h"
#include "tests/test.h"

static void assert_written(struct buf *b, const char *want)
{
	buf_put_byte(b, 0);
	assert_string_equal((const char *)b->data, want);
	buf_fini(b);
}

static void commas_separate_elements(void **state)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);

	json_object(&j);
	json_key(&j, "a");
	json_array(&j);
	json_int(&j, 1);
	json_array(&j);
	json_array_end(&j);
	json_object(&j);
	json_object_end(&j);
	json_str(&j, "x");
	json_array_end(&j);
	json_key(&j, "b");
	json_bool(&j, true);
	json_key(&j, "c");
	json_null(&j);
	json_object_end(&j);
	assert_written(&b, "{\"a\":[1,[],{},\"x\"],\"b\":true,\"c\":null}");
}

static void numbers_keep_their_value(void **state)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);

	json_array(&j);
	json_int(&j, INT64_MIN);
	json_uint(&j, UINT64_MAX);
	json_uint(&j, 0);
	json_double(&j, 0.5);
	json_double(&j, NAN);
	json_double(&j, INFINITY);
	json_array_end(&j);
	assert_written(&b, "[-9223372036854775808,18446744073709551615,0,0.5,null,null]");
}

static void assert_string_written(const char *s, size_t len, const char *want)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);

	json_strn(&j, s, len);
	assert_written(&b, want);
}

static void strings_are_safe_in_a_script_element(void **state)
{
	assert_string_written("</script>", 9, "\"\\u003c/script>\"");
	assert_string_written("a\"b\\c\n\t\x01\0z", 10, "\"a\\\"b\\\\c\\n\\t\\u0001\\u0000z\"");
	assert_string_written("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 9,
			      "\"\\u2028\\u2029\xe2\x80\xaa\"");
}

static void invalid_utf8_is_replaced(void **state)
{
#define BAD "\xef\xbf\xbd"
	assert_string_written("\xc3\xa4\xf0\x9f\x94\xa5", 6, "\"\xc3\xa4\xf0\x9f\x94\xa5\"");
	assert_string_written("\xff"
			      "a",
			      2, "\"" BAD "a\"");
	assert_string_written("\xc3", 1, "\"" BAD "\"");                 /* a truncated sequence */
	assert_string_written("\xc0\xaf", 2, "\"" BAD BAD "\"");         /* an overlong form */
	assert_string_written("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\""); /* a surrogate */
	assert_string_written("\xf4\x90\x80\x80", 4,
			      "\"" BAD BAD BAD BAD "\""); /* beyond Unicode */
#undef BAD
}

TEST_GROUP(test_json, TEST(commas_separate_elements), TEST(numbers_keep_their_value),
	   TEST(strings_are_safe_in_a_script_element), TEST(invalid_utf8_is_replaced))
