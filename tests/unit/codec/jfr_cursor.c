/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/jfr/jfr_cursor.h"

#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static struct jfr_cursor over(const uint8_t *data, size_t len)
{
	return (struct jfr_cursor){ .data = data, .end = len };
}

static void integers_have_up_to_nine_bytes(void **state)
{
	static const struct {
		uint8_t bytes[10];
		size_t len;
		uint64_t value;
	} cases[] = {
		{ { 0x7f }, 1, 0x7f },
		{ { 0x80, 0x01 }, 2, 0x80 },
		{ { 0x85, 0x80, 0x80, 0x00 }, 4, 5 }, /* padded, as the JVM writes lengths */
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 9, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jfr_cursor c = over(cases[i].bytes, sizeof(cases[i].bytes));

		assert_int_equal(jfr_varint(&c), cases[i].value);
		assert_int_equal(c.at, cases[i].len);
		assert_false(c.bad);
	}
}

static void a_read_beyond_the_end_is_bad_and_stays_bad(void **state)
{
	static const uint8_t data[] = { 0x80, 0x80 };
	struct jfr_cursor c = over(data, sizeof(data));

	assert_int_equal(jfr_varint(&c), 0);
	assert_true(c.bad);
	c.at = 0;
	assert_int_equal(jfr_byte(&c), 0);
	jfr_skip(&c, 1);
	assert_int_equal(c.at, 0);
	assert_int_equal(jfr_be64(&c), 0);
}

/* The length of an event may be less than what was read to learn it. */
static void an_end_that_has_passed_is_bad(void **state)
{
	static const uint8_t bytes[4] = { 1, 2, 3, 4 };
	struct jfr_cursor c = { .data = bytes, .at = 3, .end = 2 };

	assert_int_equal(jfr_byte(&c), 0);
	assert_true(c.bad);
	assert_int_equal(c.at, 3);
	c.bad = false;
	jfr_skip(&c, 1);
	assert_true(c.bad);
}

static void expect_text(const uint8_t *data, size_t len, const char *utf8)
{
	struct jfr_cursor c = over(data, len);
	struct buf out = { 0 };

	jfr_text_put(jfr_text(&c), &out);
	buf_put_byte(&out, 0);
	assert_false(c.bad);
	assert_int_equal(c.at, len);
	assert_string_equal((char *)out.data, utf8);
	buf_fini(&out);
}

static void texts_become_utf8(void **state)
{
	static const uint8_t null[] = { 0 }, empty[] = { 1 };
	static const uint8_t utf8[] = { 3, 2, 0xc3, 0xa4 }, latin1[] = { 5, 2, 'a', 0xe4 };
	static const uint8_t chars[] = { 4,    4,    'a',  0xac, 0xc1, 0x00,
					 0xbd, 0xb0, 0x03, 0x8c, 0xbe, 0x03 };

	expect_text(null, sizeof(null), "");
	expect_text(empty, sizeof(empty), "");
	expect_text(utf8, sizeof(utf8), "\xc3\xa4");
	expect_text(latin1, sizeof(latin1), "a\xc3\xa4");
	/* U+20AC, and U+1F70C as two surrogates */
	expect_text(chars, sizeof(chars), "a\xe2\x82\xac\xf0\x9f\x9c\x8c");
}

static void malformed_texts_are_bad(void **state)
{
	static const uint8_t cases[][3] = {
		{ 3, 200, 1 }, { 4, 9, 1 }, { 6, 0, 0 }, { 5, 0xff, 0xff }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jfr_cursor c = over(cases[i], sizeof(cases[i]));
		struct jfr_text t = jfr_text(&c);

		assert_true(c.bad);
		assert_null(t.bytes);
	}
}

static void names_are_compared_in_every_encoding(void **state)
{
	static const uint8_t kinds[] = { 3, 4, 5 };

	for (size_t i = 0; i < sizeof(kinds); i++) {
		const uint8_t data[] = { kinds[i], 2, 'a', 'b' };
		struct jfr_cursor c = over(data, sizeof(data));
		struct jfr_text t = jfr_text(&c);

		assert_true(jfr_text_is(t, "ab"));
		assert_false(jfr_text_is(t, "abc"));
		assert_false(jfr_text_is(t, "ac"));
	}
}

TEST_GROUP(test_jfr_cursor, TEST(integers_have_up_to_nine_bytes),
	   TEST(a_read_beyond_the_end_is_bad_and_stays_bad), TEST(an_end_that_has_passed_is_bad),
	   TEST(texts_become_utf8), TEST(malformed_texts_are_bad),
	   TEST(names_are_compared_in_every_encoding))
