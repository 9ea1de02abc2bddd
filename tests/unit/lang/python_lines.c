/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lang/python/python.h"
#include "tests/test.h"

static uint32_t line_of(uint16_t minor, uint32_t first, uint32_t place, const uint8_t *lines,
			size_t n)
{
	struct lang_function f = { .version = minor, .first_line = first, .n_lines = (uint32_t)n };

	memcpy(f.lines = malloc(n), lines, n);
	place = python_line(&f, place);
	free(f.lines);
	return place;
}

#define LINE(minor, first, place, ...)                                                             \
	line_of(minor, first, place, (const uint8_t[]){ __VA_ARGS__ },                             \
		sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void lnotab_counts_bytes(void **state)
{
	(void)state;
	assert_int_equal(LINE(8, 10, 0, 0, 1, 8, 1, 6, 0xff), 11);
	assert_int_equal(LINE(8, 10, 7, 0, 1, 8, 1, 6, 0xff), 11);
	assert_int_equal(LINE(8, 10, 8, 0, 1, 8, 1, 6, 0xff), 12);
	assert_int_equal(LINE(8, 10, 14, 0, 1, 8, 1, 6, 0xff), 11);
	assert_int_equal(LINE(8, 10, 9999, 0, 1, 8, 1, 6, 0xff), 11);
}

static void a_frame_that_has_not_begun_is_at_its_first_line(void **state)
{
	(void)state;
	assert_int_equal(LINE(8, 10, UINT32_MAX, 0, 1), 10);
	assert_int_equal(LINE(10, 10, UINT32_MAX, 2, 1), 10);
	assert_int_equal(LINE(11, 10, 0, 0x80 | 10 << 3), 10);
}

static void pep_626_counts_instructions(void **state)
{
	(void)state;
	/* two instructions are on line 11, one has no line, one is on line 13 */
	assert_int_equal(LINE(10, 10, 0, 4, 1, 2, 0x80, 2, 2), 11);
	assert_int_equal(LINE(10, 10, 1, 4, 1, 2, 0x80, 2, 2), 11);
	assert_int_equal(LINE(10, 10, 2, 4, 1, 2, 0x80, 2, 2), 0);
	assert_int_equal(LINE(10, 10, 3, 4, 1, 2, 0x80, 2, 2), 13);
}

static void location_entries_are_of_all_kinds(void **state)
{
	/*
	 * kinds: short; one line (+1); no columns (+2); long (-3); none. Each covers one code unit.
	 */
	static const uint8_t lines[] = {
		0x80 | 0 << 3,
		0x11,
		0x80 | 11 << 3,
		1,
		2,
		0x80 | 13 << 3,
		4,
		0x80 | 14 << 3,
		7,
		0,
		1,
		2,
		0x80 | 15 << 3,
	};
	struct lang_function f = { .version = 11,
				   .first_line = 100,
				   .bytecode = 184,
				   .lines = (uint8_t *)lines,
				   .n_lines = sizeof(lines) };

	(void)state;
	assert_int_equal(python_line(&f, 184), 100);
	assert_int_equal(python_line(&f, 186), 101);
	assert_int_equal(python_line(&f, 188), 103);
	assert_int_equal(python_line(&f, 190), 100);
	assert_int_equal(python_line(&f, 192), 0);
	assert_int_equal(python_line(&f, 194), 100); /* after the end of the table */
	assert_int_equal(python_line(&f, 0), 100);   /* before the code */
}

static void a_truncated_table_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(LINE(11, 5, 40, 0x80 | 14 << 3, 0xff, 0xff), 5);
	assert_int_equal(LINE(8, 5, 40, 1), 5);
	assert_int_equal(python_line(&(struct lang_function){ .version = 12, .first_line = 3 }, 4),
			 3);
}

static void a_line_below_one_becomes_the_first_line(void **state)
{
	(void)state;
	assert_int_equal(LINE(8, 1, 4, 0, 0x80), 1);
}

TEST_GROUP(test_python_lines, TEST(lnotab_counts_bytes),
	   TEST(a_frame_that_has_not_begun_is_at_its_first_line), TEST(pep_626_counts_instructions),
	   TEST(location_entries_are_of_all_kinds), TEST(a_truncated_table_is_accepted),
	   TEST(a_line_below_one_becomes_the_first_line))
