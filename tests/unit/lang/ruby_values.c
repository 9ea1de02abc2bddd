/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "lang/ruby/ruby.h"
#include "memory.h"
#include "tests/test.h"

enum {
	NOT_EMBEDDED = 1 << 13, /* flags of strings and arrays */
	EMBEDDED_ARRAY = 1 << 13,
	LEN_SHIFT = 14,
	BIAS = 0x100, /* subtracted from addresses in the file */
	UNMAPPED = 0x7f0000000000,
};

static struct memory m;
static struct ruby_vm ruby;

static void begin(uint16_t version)
{
	memory_init(&m, 11);
	memory_add(&m, NULL, 4096); /* so that addresses with a bias are positive */
	ruby = (struct ruby_vm){ .version = version, .last_operator = 170 };
}

static uint64_t object(uint64_t flags, size_t len)
{
	uint64_t at = memory_add(&m, NULL, len);

	memory_put(&m, at, flags);
	return at;
}

/* Adds a string whose text is in the object, as from 3.2 on. */
static uint64_t string(const char *text)
{
	uint64_t at = object(RUBY_T_STRING, 24 + strlen(text) + 1);

	memory_put(&m, at + 16, strlen(text));
	memcpy(memory_at(&m, at + 24), text, strlen(text));
	return at;
}

/* Adds a string whose text is elsewhere, which all versions have. */
static uint64_t outer_string(const char *text)
{
	uint64_t at = object(RUBY_T_STRING | NOT_EMBEDDED, 40);

	memory_put(&m, at + 16, strlen(text));
	memory_put(&m, at + 24, memory_add(&m, text, strlen(text) + 1));
	return at;
}

static void check_string(uint64_t v, const char *want)
{
	char *text = NULL;
	int r = ruby_read_string(&ruby, &m.process, v, &text);

	assert_int_equal(r == 0, want != NULL);
	if (want)
		assert_string_equal(text, want);
	free(text);
}

static void an_object_has_a_type_and_perhaps_a_kind(void **state)
{
	uint64_t at;
	int kind;

	begin(303);
	at = object(RUBY_T_IMEMO | RUBY_IMEMO_ISEQ << 12 | 1 << 5, 16);
	assert_int_equal(ruby_type_of(&m.process, at, &kind), RUBY_T_IMEMO);
	assert_int_equal(kind, RUBY_IMEMO_ISEQ);
	assert_int_equal(ruby_type_of(&m.process, at, NULL), RUBY_T_IMEMO);
	assert_int_equal(ruby_type_of(&m.process, 0, NULL), -1);      /* false */
	assert_int_equal(ruby_type_of(&m.process, 8, NULL), -1);      /* nil */
	assert_int_equal(ruby_type_of(&m.process, at + 1, NULL), -1); /* a small integer */
	assert_int_equal(ruby_type_of(&m.process, at + 4, NULL), -1);
	assert_int_equal(ruby_type_of(&m.process, UNMAPPED, NULL), -1);
}

static void the_text_of_a_string_is_inside_or_outside_of_it(void **state)
{
	uint64_t at;

	begin(303);
	check_string(string("inside"), "inside");
	check_string(outer_string("outside"), "outside");
	check_string(string(""), "");
	ruby.version = 301; /* the length of a text inside is in the flags */
	at = object(RUBY_T_STRING | 5 << LEN_SHIFT, 40);
	memcpy(memory_at(&m, at + 16), "early", 5);
	check_string(at, "early");
	check_string(outer_string("outside"), "outside");
}

static void false_lengths_of_strings_are_bounded(void **state)
{
	uint64_t at;
	char *text;

	begin(303);
	at = string("text");
	memory_put(&m, at + 16, UINT64_MAX);
	check_string(at, NULL); /* The memory ends before the longest name. */
	memory_add(&m, NULL, LANG_NAME_MAX);
	assert_int_equal(ruby_read_string(&ruby, &m.process, at, &text), 0);
	assert_memory_equal(text, "text?", 5);
	assert_int_equal(strlen(text), LANG_NAME_MAX);
	free(text);
	at = outer_string("text");
	memory_put(&m, at + 24, UNMAPPED);
	check_string(at, NULL);
	check_string(object(RUBY_T_ARRAY, 40), NULL);
	check_string(UNMAPPED, NULL);
	check_string(0, NULL);
}

/* ---- symbols ------------------------------------------------------------------------- */

/* Adds an array with its elements inside or outside, all of them @element. */
static uint64_t array(uint64_t element, size_t n, bool inside)
{
	uint64_t at =
		object(RUBY_T_ARRAY | (inside ? EMBEDDED_ARRAY : 0), inside ? 16 + 8 * n : 40);
	uint64_t data = inside ? at + 16 : memory_add(&m, NULL, 8 * n);

	if (!inside)
		memory_put(&m, at + 32, data);
	for (size_t i = 0; i < n; i++)
		memory_put(&m, data + 8 * i, element);
	return at;
}

/* Puts @text as the symbol with the serial number 513, the second of the second page. */
static void put_symbols(const char *text, bool inside)
{
	uint64_t page = array(string(text), 4, inside), pages = array(page, 2, inside);
	uint64_t table = memory_add(&m, NULL, 32);

	ruby.symbols = table - BIAS;
	memory_put(&m, table + RUBY_SYMBOLS_IDS, pages);
}

static void check_symbol(uint64_t id, const char *want, int r)
{
	char *text = NULL;

	assert_int_equal(ruby_read_symbol(&ruby, &m.process, BIAS, id, &text), r);
	if (r == 0)
		assert_string_equal(text, want);
	free(text);
}

static void a_symbol_has_a_number_in_pages(void **state)
{
	for (int inside = 0; inside < 2; inside++) {
		begin(303);
		put_symbols("each", inside);
		check_symbol(513 << 4 | 3, "each", 0); /* The low bits are its scope. */
		check_symbol(1, "each", 0);            /* not larger than an operator: unshifted */
		check_symbol(0, NULL, -ENOENT);
		check_symbol(1ULL << 40, NULL, -ENOENT);
		check_symbol(UINT64_MAX, NULL, -ENOENT);
	}
	ruby.symbols = 0;
	check_symbol(513 << 4, NULL, -ENOENT);
}

static void symbols_out_of_range_are_errors(void **state)
{
	begin(303);
	put_symbols("each", false);
	check_symbol(100000 << 4, NULL, -EFAULT);
	memory_put(&m, ruby.symbols + BIAS + RUBY_SYMBOLS_IDS, string("not an array"));
	check_symbol(513 << 4, NULL, -EFAULT);
	memory_put(&m, ruby.symbols + BIAS + RUBY_SYMBOLS_IDS, UNMAPPED);
	check_symbol(513 << 4, NULL, -EFAULT);
}

/* ---- classes -------------------------------------------------------------------------- */

static void check_class(uint64_t v, const char *want)
{
	char *name = NULL;
	int r = ruby_read_class(&ruby, &m.process, BIAS, v, &name);

	assert_int_equal(r, want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(name, want);
	free(name);
}

/* 3.2 has the variables of a class in an array, of which the first is the name. */
static uint64_t class_of_302(uint64_t name)
{
	uint64_t at = object(RUBY_T_CLASS, 40), values = memory_add(&m, NULL, 16);

	memory_put(&m, at + 24, values);
	memory_put(&m, values, name);
	return at;
}

static void only_constants_are_names_of_classes(void **state)
{
	static const char *const good[] = { "Thing", "Some::Thing", "A_1\xc3\x84" };
	static const char *const bad[] = { "thing", "", "Thing#x", "A b", "#<Class:0x00>", "9" };

	begin(302);
	for (size_t i = 0; i < 3; i++) {
		char want[32];

		snprintf(want, sizeof(want), "%s#", good[i]);
		check_class(class_of_302(string(good[i])), want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check_class(class_of_302(string(bad[i])), NULL);
	check_class(class_of_302(UNMAPPED), NULL);
	check_class(string("Thing"), NULL);
	check_class(UNMAPPED, NULL);
}

static void a_singleton_class_is_named_after_its_object(void **state)
{
	uint64_t thing, loop;

	begin(302);
	thing = class_of_302(string("Thing"));
	check_class(class_of_302(thing), "Thing.");
	check_class(class_of_302(class_of_302(thing)), NULL); /* only one step is made */
	loop = class_of_302(0);
	memory_put(&m, m.len + MEMORY_AT - 16, loop); /* it belongs to itself */
	check_class(loop, NULL);
}

/* Up to 3.1, a class has a table of variables, whose names are symbols. */
static void early_classes_have_a_table_of_variables(void **state)
{
	uint64_t at, ext, table, entries;

	begin(301);
	ruby.version = 303; /* for the text of the symbol */
	put_symbols("__classpath__", true);
	ruby.version = 301;
	/* its text is where 3.1 has the text of a string */
	memory_put(&m, ruby.symbols + BIAS + RUBY_SYMBOLS_IDS,
		   array(array(outer_string("__classpath__"), 4, true), 2, true));
	at = object(RUBY_T_CLASS, 40);
	ext = memory_add(&m, NULL, 16);
	table = memory_add(&m, NULL, 56);
	entries = memory_add(&m, NULL, 24);
	memory_put(&m, at + 24, ext);
	memory_put(&m, ext + 8, table);
	memory_put(&m, table + 48, entries);
	memory_put(&m, table + 40, 1);
	memory_put(&m, entries + 8, 513 << 4);
	memory_put(&m, entries + 16, outer_string("Early::Thing"));
	check_class(at, "Early::Thing#");
	memory_put(&m, table + 40, 0);
	check_class(at, NULL);
	memory_put(&m, table + 40, UINT64_MAX); /* The search ends after a few entries. */
	memory_put(&m, entries + 8, 1 << 4);
	memory_put(&m, entries + 16, 0);
	check_class(at, NULL);
	memory_put(&m, ext + 8, 0);
	check_class(at, NULL);
}

static void without_the_class_object_later_classes_have_no_name(void **state)
{
	uint64_t at;

	begin(303);
	at = object(RUBY_T_CLASS, 400);
	memory_put(&m, at + 48, string("Thing"));
	check_class(at, NULL);
	ruby.object_class = UNMAPPED;
	check_class(at, NULL);
	ruby.object_class = at - BIAS; /* not a pointer to a class */
	check_class(at, NULL);
}

TEST_GROUP(test_ruby_values, TEST(an_object_has_a_type_and_perhaps_a_kind),
	   TEST(the_text_of_a_string_is_inside_or_outside_of_it),
	   TEST(false_lengths_of_strings_are_bounded), TEST(a_symbol_has_a_number_in_pages),
	   TEST(symbols_out_of_range_are_errors), TEST(only_constants_are_names_of_classes),
	   TEST(a_singleton_class_is_named_after_its_object),
	   TEST(early_classes_have_a_table_of_variables),
	   TEST(without_the_class_object_later_classes_have_no_name))
