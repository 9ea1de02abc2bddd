/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/lang/jvm.c tests which names methods have; this file tests malformed structures. */
#include <errno.h>

#include "jvm_memory.h"
#include "tests/test.h"

enum {
	CONST_METHOD = 8, /* offset in a Method */
	/* offsets in a ConstMethod */
	CONST_POOL = 8,
	CONST_SIZE = 24,
	FLAGS = 28,
	CODE_SIZE = 32,
	NAME_INDEX = 34,
	/* in a constant pool */
	HOLDER = 24,
	SOURCE = 54,
	LENGTH = 60,
	ENTRIES = 72,
	KLASS_NAME = 24, /* in a class */
	SYMBOL = JVM_FREE_AT,
};

static struct lang_function f;

static int names_setup(void **state)
{
	struct unwind_mapping regions[LANG_REGIONS_MAX];

	return jvm_memory_setup(state) || jvm_memory_attach(*state, regions) <= 0;
}

static void release(void)
{
	free(f.name);
	free(f.near_name);
	free(f.file);
	free(f.lines);
	f = (struct lang_function){ 0 };
}

static int names_teardown(void **state)
{
	release();
	return jvm_memory_teardown(state);
}

static uint64_t part(struct jvm_memory *j)
{
	return jvm_memory_word(j, j->outer + CONST_METHOD);
}

/* Reads the outer method, whose cookie is that of its ConstMethod. */
static int read_outer(struct jvm_memory *j)
{
	release();
	return jvm_read(&j->m.tables, 2, &j->m.process, j->outer, lang_cookie(part(j)), &f);
}

/* Replaces entry @i of the constant pool. */
static void set_symbol(struct jvm_memory *j, uint16_t i, const char *text)
{
	uint64_t at = SYMBOL + 512 * (uint64_t)i;

	jvm_memory_put_symbol(j, at, text);
	memory_put(&j->m, j->pool + ENTRIES + 8 * (uint64_t)i, at);
}

static void malformed_signatures_are_omitted(void **state)
{
	static const struct {
		const char *signature, *name;
	} cases[] = {
		{ "()V", "pkg.Outer.run()" },
		{ "(BCDFIJSZV)V", "pkg.Outer.run(byte, char, double, float, int, long, short, "
				  "boolean, void)" },
		{ "([[[J[Lx;)V", "pkg.Outer.run(long[][][], x[])" },
		{ "(", "pkg.Outer.run" },
		{ "(I", "pkg.Outer.run" },
		{ "(Q)V", "pkg.Outer.run" },
		{ "(Lnever/ended)V", "pkg.Outer.run" },
		{ "([)V", "pkg.Outer.run" },
		{ "([", "pkg.Outer.run" },
		{ "I)V", "pkg.Outer.run" },
		{ "(L;)V", "pkg.Outer.run()" },
	};
	struct jvm_memory *j = *state;

	j->m.process.signatures = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_symbol(j, 2, cases[i].signature);
		assert_int_equal(read_outer(j), 0);
		assert_string_equal(f.name, cases[i].name);
	}
}

static void control_characters_are_replaced(void **state)
{
	struct jvm_memory *j = *state;

	set_symbol(j, 1, "r\nu\x1b[n\x7f");
	assert_int_equal(read_outer(j), 0);
	assert_string_equal(f.name, "pkg.Outer.r?u?[n?");
}

/* Symbols of an unloaded class are freed, and their memory is overwritten or cleared. */
static void text_that_is_not_a_name_is_stale(void **state)
{
	static const struct {
		const char *text;
		uint16_t len;
	} cases[] = {
		{ "", 0 },
		{ "\0", 1 },
		{ "ru\0", 3 },
		{ "ru\x80", 3 },    /* begins with a byte that continues a character */
		{ "ru\xc3n", 4 },   /* a character of two bytes that is not continued */
		{ "\xe2\x82n", 3 }, /* one of three bytes */
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xff", 1 },
	};
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_symbol(j, 1, "placeholder");
		memcpy(memory_at(&j->m, SYMBOL + 512 + 6), cases[i].text, cases[i].len);
		jvm_memory_put16(j, SYMBOL + 512 + 4, cases[i].len);
		assert_int_equal(read_outer(j), -ESTALE);
	}
}

/* Modified UTF-8 encodes NUL in two bytes and other planes as pairs of surrogates. */
static void names_in_modified_utf8_are_read(void **state)
{
	static const char *const names[] = { "\xc3\xbc", "\xe2\x82\xac", "\xc0\x80",
					     "\xed\xa0\xbd\xed\xb8\x80" };
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		set_symbol(j, 1, names[i]);
		assert_int_equal(read_outer(j), 0);
		assert_string_equal(f.name + strlen("pkg.Outer."), names[i]);
	}
}

static void long_symbols_are_truncated(void **state)
{
	struct jvm_memory *j = *state;

	memset(memory_at(&j->m, SYMBOL + 512), 'n', 0x2000);
	jvm_memory_put16(j, SYMBOL + 512 + 4, 0x1fff);
	memory_put(&j->m, j->pool + ENTRIES + 8, SYMBOL + 512);
	assert_int_equal(read_outer(j), 0);
	assert_int_equal(strlen(f.name), strlen("pkg.Outer.") + LANG_NAME_MAX);
}

/* Each of these values leads out of the pool or of the memory. */
static void broken_references_are_stale(void **state)
{
	struct jvm_memory *j = *state;
	const struct {
		uint64_t at, value;
		size_t width;
	} cases[] = {
		{ part(j) + NAME_INDEX, 0, 2 },
		{ part(j) + NAME_INDEX, 6, 2 },
		{ part(j) + NAME_INDEX, UINT16_MAX, 2 },
		{ part(j) + CONST_POOL, 1ULL << 40, 8 },
		{ part(j) + CONST_POOL, UINT64_MAX, 8 },
		{ j->pool + LENGTH, 0, 4 },
		{ j->pool + LENGTH, (1 << 16) + 1, 4 },
		{ j->pool + HOLDER, 1ULL << 40, 8 },
		{ j->pool + ENTRIES + 8, 0, 8 },
		{ j->pool + ENTRIES + 8, MEMORY_AT + 4, 8 }, /* not aligned */
		{ j->pool + ENTRIES + 8, 1ULL << 40, 8 },
		{ jvm_memory_word(j, j->pool + HOLDER) + KLASS_NAME, 0, 8 },
		{ j->outer + CONST_METHOD, 1ULL << 40, 8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t before = jvm_memory_word(j, cases[i].at);

		memcpy(memory_at(&j->m, cases[i].at), &cases[i].value, cases[i].width);
		assert_int_equal(read_outer(j), -ESTALE);
		memory_put(&j->m, cases[i].at, before);
		assert_int_equal(read_outer(j), 0);
		assert_string_equal(f.name, "pkg.Outer.run");
	}
}

static void a_file_that_cannot_be_read_is_unknown(void **state)
{
	static const uint16_t indexes[] = { 0, 6, UINT16_MAX };
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < 3; i++) {
		jvm_memory_put16(j, j->pool + SOURCE, indexes[i]);
		assert_int_equal(read_outer(j), 0);
		assert_string_equal(f.file, "");
	}
}

static void false_sizes_leave_a_method_without_lines(void **state)
{
	static const uint32_t words[] = { 0, 6, (1 << 16) + 1, UINT32_MAX };
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < 4; i++) {
		jvm_memory_put32(j, part(j) + CONST_SIZE, words[i]);
		assert_int_equal(read_outer(j), 0);
		assert_null(f.lines);
		assert_int_equal(f.first_line, 0);
		assert_int_equal(jvm_line(&f, 3), 0);
	}
	jvm_memory_put32(j, part(j) + CONST_SIZE, 10);
	jvm_memory_put16(j, part(j) + CODE_SIZE, UINT16_MAX); /* byte code after the end */
	assert_int_equal(read_outer(j), 0);
	assert_null(f.lines);
	jvm_memory_put16(j, part(j) + CODE_SIZE, 8);
	jvm_memory_put16(j, part(j) + FLAGS, 0xfffe); /* every flag but that of the lines */
	assert_int_equal(read_outer(j), 0);
	assert_null(f.lines);
}

static void a_line_table_beyond_the_memory_is_stale(void **state)
{
	struct jvm_memory *j = *state;

	jvm_memory_put32(j, part(j) + CONST_SIZE, 1 << 14);
	assert_int_equal(read_outer(j), -ESTALE);
}

static void a_layout_with_a_large_header_is_refused(void **state)
{
	struct jvm_memory *j = *state;

	j->jvm[2].const_bytes = 257;
	assert_int_equal(read_outer(j), -ESTALE);
}

/* Fields of the header that the layout puts outside of it read as zero. */
static void fields_outside_of_the_header_are_zero(void **state)
{
	struct jvm_memory *j = *state;

	j->jvm[2].const_flags = 4096;
	assert_int_equal(read_outer(j), 0);
	assert_null(f.lines);
	j->jvm[2].name_index = 47; /* its second byte is the first one after the header */
	assert_int_equal(read_outer(j), -ESTALE);
}

#define NAMES_TEST(fn) cmocka_unit_test_setup_teardown(fn, names_setup, names_teardown)

TEST_GROUP(test_jvm_symbolize, NAMES_TEST(malformed_signatures_are_omitted),
	   NAMES_TEST(control_characters_are_replaced),
	   NAMES_TEST(text_that_is_not_a_name_is_stale),
	   NAMES_TEST(names_in_modified_utf8_are_read), NAMES_TEST(long_symbols_are_truncated),
	   NAMES_TEST(broken_references_are_stale),
	   NAMES_TEST(a_file_that_cannot_be_read_is_unknown),
	   NAMES_TEST(false_sizes_leave_a_method_without_lines),
	   NAMES_TEST(a_line_table_beyond_the_memory_is_stale),
	   NAMES_TEST(a_layout_with_a_large_header_is_refused),
	   NAMES_TEST(fields_outside_of_the_header_are_zero))
