/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/lang/v8.c tests which texts have which classes; this file tests hostile texts. */
#include "lang/v8/classes.h"

#include "base/buf.h"
#include "tests/test.h"

enum { MANY = 1 << 20, NESTING_MAX = 4096, METHODS_MAX = 1 << 18 };

/* Finds the methods of a text, from memory of exactly its size, and checks their ranges. */
static size_t count(const void *text, uint32_t n, uint32_t width)
{
	size_t len = (size_t)n * width, n_methods = 0;
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct v8_method *methods = NULL, found;

	assert_non_null(copy);
	memcpy(copy, text, len);
	assert_int_equal(v8_find_methods(copy, n, width, &methods, &n_methods), 0);
	for (size_t i = 0; i < n_methods; i++) {
		assert_true(methods[i].at < n);
		assert_true(!i || methods[i].at > methods[i - 1].at);
		assert_true(methods[i].n_class > 0);
		assert_true(methods[i].class < methods[i].at);
		assert_true(methods[i].n_class <= n - methods[i].class);
		assert_true(v8_class_at(methods, n_methods, methods[i].at, &found));
		assert_int_equal(found.class, methods[i].class);
	}
	if (n_methods)
		assert_false(v8_class_at(methods, n_methods, methods[0].at - 1, &found));
	assert_false(v8_class_at(methods, n_methods, n, &found));
	free(methods);
	free(copy);
	return n_methods;
}

static size_t count_text(const char *text)
{
	return count(text, (uint32_t)strlen(text), 1);
}

/* Repeats a text up to MANY bytes, after @before. */
static size_t count_repeated(const char *before, const char *text)
{
	struct buf b = { 0 };
	size_t n;

	buf_put_str(&b, before);
	while (b.len < MANY)
		buf_put_str(&b, text);
	assert_int_equal(buf_error(&b), 0);
	n = count(b.data, (uint32_t)b.len, 1);
	buf_fini(&b);
	return n;
}

/*
 * Each of these texts invites a reader to search its whole rest at every position, which would take
 * more than an hour.
 */
static void hostile_texts_take_linear_time(void **state)
{
	static const char *const texts[] = {
		"/[",     "=/[",     "(/",     "/",        "/*", "/\\", "`${", "`", "\"\\",     "'",
		"class ", "class\t", "class{", "class A{", "{",  "(",   "[",   "}", "return/[",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		count_repeated("", texts[i]);
}

static void a_regular_expression_after_many_divisions_is_still_one(void **state)
{
	assert_int_equal(count_text("x = a / b / c; y = /[{]/; class A { m() {} }"), 1);
	assert_int_equal(count_text("x = [/{/, /}/, /\\//, /[/]/]\nclass A { m() {} }"), 1);
}

static void nesting_over_the_limit_has_no_methods(void **state)
{
	struct buf b = { 0 };

	for (int i = 0; i < NESTING_MAX - 1; i++)
		buf_put_byte(&b, '{');
	buf_put_str(&b, "class A { m() {} }");
	assert_int_equal(count(b.data, (uint32_t)b.len, 1), 1);
	b.len = 0;
	for (int i = 0; i < NESTING_MAX + 10; i++)
		buf_put_byte(&b, '{');
	buf_put_str(&b, "class A { m() {} }");
	for (int i = 0; i < NESTING_MAX + 10; i++)
		buf_put_byte(&b, '}');
	buf_put_str(&b, "class B { m() {} }");
	assert_int_equal(count(b.data, (uint32_t)b.len, 1), 1);
	buf_fini(&b);
}

static void the_number_of_methods_is_limited(void **state)
{
	assert_int_equal(count_repeated("class A {", "m(){}"), (MANY - 9 + 4) / 5);
	assert_int_equal(count_repeated("class A {", "()"), METHODS_MAX);
}

static void wide_texts_have_the_same_methods(void **state)
{
	static const char text[] = "class A { m() { `${'}'}` } n() {} } // \xe9";
	uint16_t wide[sizeof(text) - 1];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		wide[i] = (uint8_t)text[i];
	assert_int_equal(count_text(text), 2);
	assert_int_equal(count(wide, sizeof(text) - 1, 2), 2);
	/* A character whose low byte is a brace is not one. */
	wide[8] = 0x017b;
	assert_int_equal(count(wide, sizeof(text) - 1, 2), 0);
}

static void any_text_is_read_within_its_bounds(void **state)
{
	static const char *const words[] = { "class", " ",  "A",      "{",   "}",       "(", ")",
					     "`",     "${", "'",      "\"",  "/",       "*", "[",
					     "]",     "\\", "\n",     "=",   "extends", ".", "m",
					     "+",     "-",  "return", "\xe9" };

	srandom(11);
	for (int round = 0; round < 3000; round++) {
		uint16_t wide[400];
		struct buf b = { 0 };

		for (int i = 0; i < 40; i++)
			buf_put_str(&b, words[(size_t)random() % (sizeof(words) / sizeof(*words))]);
		assert_true(b.len < 400);
		count(b.data, (uint32_t)b.len, 1);
		for (size_t i = 0; i < b.len; i++)
			wide[i] = random() % 20 ? b.data[i] : (uint16_t)random();
		count(wide, (uint32_t)b.len, 2);
		buf_fini(&b);
	}
}

TEST_GROUP(test_v8_classes, TEST(hostile_texts_take_linear_time),
	   TEST(a_regular_expression_after_many_divisions_is_still_one),
	   TEST(nesting_over_the_limit_has_no_methods), TEST(the_number_of_methods_is_limited),
	   TEST(wide_texts_have_the_same_methods), TEST(any_text_is_read_within_its_bounds))
