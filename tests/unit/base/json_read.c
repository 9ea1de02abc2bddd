/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static int whole(const char *text)
{
	struct json_read j;
	int r;

	json_read_init(&j, text, strlen(text));
	r = json_read_skip(&j);
	if (r == 0)
		r = json_read_end(&j);
	json_read_fini(&j);
	return r;
}

static void valid_text_is_accepted(void **state)
{
	static const char *const texts[] = {
		"{}",         "[]",    " [ ] ", "0",    "-1.5e+3",
		"true",       "false", "null",  "\"\"", "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}",
		"[[],{},[]]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(whole(texts[i]), 0);
}

static void invalid_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"",        "{",        "[1",         "[1,]",        "[,1]",     "[1 2]",
		"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",       "tru",      "nul",
		"\"",      "\"\\",     "\"\\x\"",    "\"\\u12g4\"", "\"a\nb\"", "1e",
		"--1",     "[] []",    "{]",         "[}",          "'a'",      "\"\\ud800\\u12\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(whole(texts[i]), -EBADMSG);
}

static void nesting_has_a_limit(void **state)
{
	char text[400];

	memset(text, '[', 200);
	memset(text + 200, ']', 200);
	text[399] = '\0';
	assert_int_equal(whole(text), -EBADMSG);
	memset(text, '[', 60);
	memset(text + 60, ']', 60);
	text[120] = '\0';
	assert_int_equal(whole(text), 0);
}

static void assert_decoded(const char *text, const char *want, size_t len)
{
	struct json_read j;

	json_read_init(&j, text, strlen(text));
	assert_int_equal(json_read_string(&j), 0);
	assert_int_equal(j.text.len, len);
	assert_memory_equal(j.text.data, want, len + 1);
	json_read_fini(&j);
}

static void strings_are_decoded(void **state)
{
	assert_decoded("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz", 10);
	assert_decoded("\"\\u0041\\u00e4\\u20aC\\ud83d\\udd25\"",
		       "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5", 10);
	assert_decoded("\"\\u0000\"", "\0", 1);
	assert_decoded("\"\\ud800x\\udc00\"", "\xef\xbf\xbdx\xef\xbf\xbd", 7);
}

static void members_are_read_one_by_one(void **state)
{
	static const char text[] = "{\"a\": 1.5, \"b\": [true, -2], \"c\": {}}";
	struct json_read j;
	double v;

	json_read_init(&j, text, strlen(text));
	assert_int_equal(json_read_peek(&j), '{');
	assert_int_equal(json_read_open(&j, '['), -EBADMSG);
	assert_int_equal(json_read_open(&j, '{'), 0);
	assert_int_equal(json_read_key(&j), 1);
	assert_string_equal((const char *)j.text.data, "a");
	assert_int_equal(json_read_peek(&j), 0);
	assert_int_equal(json_read_number(&j, &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(json_read_key(&j), 1);
	assert_int_equal(json_read_open(&j, '['), 0);
	assert_int_equal(json_read_item(&j), 1);
	assert_int_equal(json_read_peek(&j), 't');
	assert_int_equal(json_read_skip(&j), 0);
	assert_int_equal(json_read_item(&j), 1);
	assert_int_equal(json_read_number(&j, &v), 0);
	assert_true(v == -2);
	assert_int_equal(json_read_item(&j), 0);
	assert_int_equal(json_read_key(&j), 1);
	assert_int_equal(json_read_skip(&j), 0);
	assert_int_equal(json_read_key(&j), 0);
	assert_int_equal(json_read_end(&j), 0);
	assert_int_equal(json_read_at(&j), strlen(text));
	json_read_fini(&j);
}

struct seen {
	char keys[8];
	double sum;
};

static int add_number(struct json_read *j, void *ctx)
{
	struct seen *s = ctx;
	double v = 0;
	int r = json_read_number(j, &v);

	s->sum += v;
	return r < 0 ? r : v == 99;
}

static int add_member(struct json_read *j, void *ctx)
{
	strcat(((struct seen *)ctx)->keys, (const char *)j->text.data);
	if (json_read_is(j, "n"))
		return json_read_each(j, '[', add_number, ctx);
	return json_read_skip(j);
}

static void the_callback_can_stop_the_iteration(void **state)
{
	static const struct {
		const char *text, *keys;
		double sum;
		int r;
	} cases[] = {
		{ "{\"a\":{\"n\":[7]},\"n\":[1,2,3]}", "an", 6, 0 },
		{ "{\"n\":null,\"b\":0}", "nb", 0, 0 },
		{ "[1]", "", 0, 0 },
		{ "{}", "", 0, 0 },
		{ "{\"n\":[1,99,3]}", "n", 100, 1 },
		{ "{\"n\":[1,\"\"]}", "n", 1, -EBADMSG },
		{ "{\"n\":[1", "n", 1, -EBADMSG },
		{ "", "", 0, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = { 0 };
		struct json_read j;

		json_read_init(&j, cases[i].text, strlen(cases[i].text));
		assert_int_equal(json_read_each(&j, '{', add_member, &s), cases[i].r);
		assert_string_equal(s.keys, cases[i].keys);
		assert_true(s.sum == cases[i].sum);
		json_read_fini(&j);
	}
}

TEST_GROUP(test_json_read, TEST(the_callback_can_stop_the_iteration), TEST(valid_text_is_accepted),
	   TEST(invalid_text_is_refused), TEST(nesting_has_a_limit), TEST(strings_are_decoded),
	   TEST(members_are_read_one_by_one))
