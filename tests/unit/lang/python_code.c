/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tests/test.h"

static const uint8_t LINES[] = { 0x80 | 11 << 3, 0, 0 };

static void function_fini(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
}

static int read_code(struct memory *m, uint64_t addr, uint32_t cookie, struct lang_function *f)
{
	*f = (struct lang_function){ 0 };
	return python_read(&m->tables, 1, &m->process, addr, cookie, f);
}

static void a_code_object_is_read(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code;

	(void)state;
	memory_init(&m, 11);
	code = memory_code(&m, "Thing.method", 40, LINES, sizeof(LINES));
	assert_int_equal(read_code(&m, code, memory_cookie(&m, code), &f), 0);
	assert_string_equal(f.name, "Thing.method");
	assert_string_equal(f.file, "memory.py");
	assert_int_equal(f.first_line, 40);
	assert_int_equal(python_line(&f, f.bytecode), 41);
	function_fini(&f);
}

static void another_cookie_is_stale(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code;

	(void)state;
	memory_init(&m, 11);
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	assert_int_equal(read_code(&m, code, memory_cookie(&m, code) + 2, &f), -ESTALE);
	function_fini(&f);
}

static void another_code_object_of_the_same_line_is_stale(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t one, two;

	(void)state;
	memory_init(&m, 11);
	one = memory_code(&m, "<module>", 1, LINES, sizeof(LINES));
	two = memory_code(&m, "<module>", 1, LINES, sizeof(LINES));
	assert_int_equal(read_code(&m, two, memory_cookie(&m, one), &f), -ESTALE);
	function_fini(&f);
}

static void an_object_that_is_not_code_is_stale(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code;

	(void)state;
	memory_init(&m, 11);
	code = memory_string(&m, "a string, of some length that is not that of a code object", 58,
			     1, true);
	memory_add(&m, NULL, 100); /* so that the memory is long enough */
	assert_int_equal(read_code(&m, code, 0, &f), -ESTALE);
	function_fini(&f);
}

static void an_unmapped_address_is_an_error(void **state)
{
	struct memory m;
	struct lang_function f;

	(void)state;
	memory_init(&m, 11);
	assert_int_equal(read_code(&m, 0x123456789000, 5, &f), -EFAULT);
	function_fini(&f);
}

static void names_of_all_widths_become_utf8(void **state)
{
	static const uint16_t two[] = { 'a', 0xe9, 0x4e2d };
	static const uint32_t four[] = { 0x1f40d, 'z', 0x110000, 7 };
	struct memory m;
	struct lang_function f;
	uint64_t code;

	(void)state;
	memory_init(&m, 11);
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	memory_put(&m, code + m.python[1].code_qualname, memory_string(&m, two, 3, 2, false));
	memory_put(&m, code + m.python[1].code_filename, memory_string(&m, four, 4, 4, false));
	assert_int_equal(read_code(&m, code, 0, &f), 0);
	assert_string_equal(f.name, "a\xc3\xa9\xe4\xb8\xad");
	assert_string_equal(f.file, "\xf0\x9f\x90\x8dz??");
	function_fini(&f);
}

static void a_long_name_is_truncated(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code;
	char name[3000];

	(void)state;
	memory_init(&m, 11);
	memset(name, 'x', sizeof(name));
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	memory_put(&m, code + m.python[1].code_qualname,
		   memory_string(&m, name, sizeof(name), 1, true));
	assert_int_equal(read_code(&m, code, 0, &f), 0);
	assert_int_equal(strlen(f.name), LANG_NAME_MAX);
	function_fini(&f);
}

/* Reads a code object whose name has four characters and claims to have @length. */
static int read_with_length(uint64_t length)
{
	struct memory m;
	struct lang_function f;
	uint64_t code, name;
	int r;

	memory_init(&m, 11);
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	name = memory_string(&m, "xxxx", 4, 1, true);
	memory_put(&m, name + 16, length);
	memory_add(&m, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", 32);
	memory_put(&m, code + m.python[1].code_qualname, name);
	r = read_code(&m, code, 0, &f);
	function_fini(&f);
	return r;
}

static void a_name_without_its_end_is_stale(void **state)
{
	(void)state;
	assert_int_equal(read_with_length(4), 0);
	assert_int_equal(read_with_length(20), -ESTALE);
	assert_int_equal(read_with_length(1000000000), -ESTALE);
	assert_int_equal(read_with_length(UINT64_MAX), -ESTALE);
}

static void a_string_of_no_width_is_stale(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code, name;

	(void)state;
	memory_init(&m, 11);
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	name = memory_string(&m, "xxxxxxxxxxxx", 4, 3, true);
	memory_put(&m, code + m.python[1].code_qualname, name);
	assert_int_equal(read_code(&m, code, 0, &f), -ESTALE);
	function_fini(&f);
}

static void an_implausibly_long_line_table_is_ignored(void **state)
{
	struct memory m;
	struct lang_function f;
	uint64_t code, table;

	(void)state;
	memory_init(&m, 11);
	code = memory_code(&m, "f", 40, LINES, sizeof(LINES));
	memcpy(&table, memory_at(&m, code + m.python[1].code_lines), sizeof(table));
	memory_put(&m, table + 16, UINT64_MAX);
	assert_int_equal(read_code(&m, code, 0, &f), 0);
	assert_int_equal(f.n_lines, 0);
	assert_int_equal(python_line(&f, 190), 40);
	function_fini(&f);
}

TEST_GROUP(test_python_code, TEST(a_code_object_is_read), TEST(another_cookie_is_stale),
	   TEST(another_code_object_of_the_same_line_is_stale),
	   TEST(an_object_that_is_not_code_is_stale), TEST(an_unmapped_address_is_an_error),
	   TEST(names_of_all_widths_become_utf8), TEST(a_long_name_is_truncated),
	   TEST(a_name_without_its_end_is_stale), TEST(a_string_of_no_width_is_stale),
	   TEST(an_implausibly_long_line_table_is_ignored))
