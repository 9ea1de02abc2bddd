/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/find.h"

#include <errno.h>

#include "code_file.h"
#include "elf/rawsym.h"
#include "memory.h"
#include "tests/test.h"

/* Functions in the code, as offsets. */
enum { LOOP = 0x100, LOOP_LEN = 0x200, COLD = 0x400, CALLER = 0x600, OTHER = 0x800, LEN = 0x100 };

static void put_functions(struct code_file *f)
{
	code_file_function(f, LOOP, LOOP_LEN);
	code_file_function(f, COLD, LEN);
	code_file_function(f, CALLER, LEN);
	code_file_function(f, OTHER, LEN);
}

static const struct elf_rawsym loop = { .vaddr = CODE_AT + LOOP, .size = LOOP_LEN };

/* File offset of an address in the code. */
static uint64_t file_off(const struct code_file *f, uint64_t at)
{
	return f->elf.ph[0].p_offset + at;
}

static void check_range(const struct code_file *f, const struct vm_range *r, uint32_t at,
			uint32_t len)
{
	assert_int_equal(r->lo, file_off(f, at));
	assert_int_equal(r->hi, file_off(f, at) + len);
}

/* ---- text ------------------------------------------------------------------------------- */

static void text_is_found_in_data_and_truncated(void **state)
{
	struct code_file *f = *state;
	char out[8];

	memcpy(f->code, "mark:in code", 12);
	memcpy(f->data + 100, "mark:123456789", 14);
	assert_int_equal(lang_find_text(code_file_open(f), "mark:", out, sizeof(out)), 0);
	assert_string_equal(out, "1234567");
	assert_int_equal(lang_find_text(f->elf.img, "other:", out, sizeof(out)), -ENOENT);
}

static void text_may_end_with_its_segment(void **state)
{
	struct code_file *f = *state;
	char out[8];

	memcpy(f->data + CODE_FILE_BYTES - 7, "mark:12", 7);
	assert_int_equal(lang_find_text(code_file_open(f), "mark:", out, sizeof(out)), 0);
	assert_string_equal(out, "12");
}

/* ---- functions -------------------------------------------------------------------------- */

/* The number of bytes 0xaa in the code. */
static size_t score(const struct elf_span *code)
{
	size_t n = 0;

	for (size_t i = 0; i < code->len; i++)
		n += code->data[i] == 0xaa;
	return n;
}

static void finds_the_function_with_the_highest_score(void **state)
{
	struct code_file *f = *state;
	struct elf_rawsym sym;

	put_functions(f);
	memset(f->code, 0xaa, LOOP); /* outside of all functions */
	memset(f->code + COLD, 0xaa, 5);
	memset(f->code + CALLER, 0xaa, 7);
	memset(f->code + OTHER, 0xaa, 6);
	assert_int_equal(lang_find_function(code_file_open(f), score, 1, &sym), 0);
	assert_int_equal(sym.vaddr, CODE_AT + CALLER);
	assert_int_equal(sym.size, LEN);
	assert_int_equal(lang_find_function(f->elf.img, score, 7, &sym), 0);
	assert_int_equal(lang_find_function(f->elf.img, score, 8, &sym), -ENOENT);
}

static void functions_outside_of_the_file_are_ignored(void **state)
{
	struct code_file *f = *state;
	struct elf_rawsym sym;

	memset(f->code, 0xaa, sizeof(f->code));
	code_file_function(f, CODE_FILE_BYTES - 8, 16);
	code_file_function(f, 0x7000000, 16);
	code_file_function(f, 0, 2 << 20);
	assert_int_equal(lang_find_function(code_file_open(f), score, 1, &sym), -ENOENT);
	code_file_function(f, 0, 4);
	assert_int_equal(lang_find_function(code_file_open(f), score, 1, &sym), 0);
	assert_int_equal(sym.size, 4);
}

static void damaged_unwind_information_has_no_functions(void **state)
{
	struct code_file *f = *state;
	struct elf_rawsym sym;

	put_functions(f);
	memset(f->code, 0xaa, sizeof(f->code));
	memset(f->cfi.data, 0xff, 64);
	assert_int_equal(lang_find_function(code_file_open(f), score, 1, &sym), -ENOENT);
}

/* ---- the loop and its entry ------------------------------------------------------------- */

/* Puts @n jumps into the loop that lead to CODE_AT + @to. */
static void put_jumps(struct code_file *f, size_t n, uint32_t to)
{
	uint32_t at = LOOP + 0x10;

	while (f->code[at])
		at += 8;
	for (size_t i = 0; i < n; i++, at += 8) {
		if (i % 2)
			RELATIVE(f, at, "\x0f\x85", CODE_AT + to);
		else
			RELATIVE(f, at, "\xe9", CODE_AT + to);
	}
}

static void the_cold_part_is_where_the_loop_jumps_to_most(void **state)
{
	struct lang_detected d = { 0 };
	struct code_file *f = *state;

	put_functions(f);
	put_jumps(f, 5, COLD + 0x20);
	put_jumps(f, 4, OTHER + 0x20);
	put_jumps(f, 9, LOOP + 0x20); /* inside of the loop */
	put_jumps(f, 9, CALLER);      /* a tail call: to the beginning of a function */
	assert_int_equal(lang_set_loop(code_file_open(f), &loop, &d), 0);
	check_range(f, &d.code.loop[0], LOOP, LOOP_LEN);
	check_range(f, &d.code.loop[1], COLD, LEN);
	assert_int_equal(d.loop_vaddr, CODE_AT + LOOP);
}

static void few_jumps_are_chance(void **state)
{
	struct lang_detected d = { 0 };
	struct code_file *f = *state;

	put_functions(f);
	put_jumps(f, 3, COLD + 0x20);
	assert_int_equal(lang_set_loop(code_file_open(f), &loop, &d), 0);
	check_range(f, &d.code.loop[0], LOOP, LOOP_LEN);
	assert_int_equal(d.code.loop[1].hi, 0);
}

static void a_loop_outside_of_the_file_is_refused(void **state)
{
	static const struct elf_rawsym bad[] = { { .vaddr = 0x7000000, .size = 16 },
						 { .vaddr = CODE_AT, .size = 0 },
						 { .vaddr = UINT64_MAX, .size = 16 } };
	struct code_file *f = *state;

	put_functions(f);
	code_file_open(f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct lang_detected d = { 0 };

		assert_int_equal(lang_set_loop(f->elf.img, &bad[i], &d), -ENOENT);
		assert_int_equal(lang_set_entry(f->elf.img, &bad[i], &d), -ENOENT);
	}
}

static void the_entry_is_in_the_two_functions_that_call_the_loop_most(void **state)
{
	struct lang_detected d = { 0 };
	struct code_file *f = *state;

	put_functions(f);
	RELATIVE(f, CALLER, "\xe8", CODE_AT + LOOP);
	for (uint32_t i = 0; i < 3; i++)
		RELATIVE(f, OTHER + 8 * i, "\xe8", CODE_AT + LOOP);
	for (uint32_t i = 0; i < 9; i++) {
		RELATIVE(f, COLD + 8 * i, "\xe8", CODE_AT + LOOP + 1); /* not its beginning */
		RELATIVE(f, LOOP + 8 * i, "\xe8", CODE_AT + LOOP);     /* by itself */
	}
	assert_int_equal(lang_set_entry(code_file_open(f), &loop, &d), 0);
	check_range(f, &d.code.entry[0], OTHER, LEN);
	check_range(f, &d.code.entry[1], CALLER, LEN);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void text_of_a_process_has_no_control_characters(void **state)
{
	static struct memory m;
	char longer[LANG_NAME_MAX + 50], *text;
	uint64_t at;

	memory_init(&m, 11);
	at = memory_add(&m, "a\tb\x7f\0c\xff", 7);
	assert_int_equal(lang_read_text(&m.process, at, 7, &text), 0);
	assert_memory_equal(text, "a?b??c\xff", 8);
	free(text);
	assert_int_equal(lang_read_text(&m.process, 0x7f0000000000, 0, &text), 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(lang_read_text(&m.process, 0x7f0000000000, 1, &text), -EFAULT);
	memset(longer, 'n', sizeof(longer));
	at = memory_add(&m, longer, sizeof(longer));
	assert_int_equal(lang_read_text(&m.process, at, UINT64_MAX, &text), 0);
	assert_int_equal(strlen(text), LANG_NAME_MAX);
	free(text);
}

static void a_cookie_identifies_eight_bytes(void **state)
{
	assert_int_equal(lang_check_cookie(lang_cookie(7), 7), 0);
	assert_int_equal(lang_check_cookie(lang_cookie(7), 8), -ESTALE);
	assert_int_equal(lang_check_cookie(0, 8), 0); /* The sample has none. */
	assert_int_not_equal(lang_cookie(0), 0);
}

TEST_GROUP(test_find, CODE_TEST(text_is_found_in_data_and_truncated),
	   CODE_TEST(text_may_end_with_its_segment),
	   CODE_TEST(finds_the_function_with_the_highest_score),
	   CODE_TEST(functions_outside_of_the_file_are_ignored),
	   CODE_TEST(damaged_unwind_information_has_no_functions),
	   CODE_TEST(the_cold_part_is_where_the_loop_jumps_to_most),
	   CODE_TEST(few_jumps_are_chance), CODE_TEST(a_loop_outside_of_the_file_is_refused),
	   CODE_TEST(the_entry_is_in_the_two_functions_that_call_the_loop_most),
	   TEST(text_of_a_process_has_no_control_characters), TEST(a_cookie_identifies_eight_bytes))
