/* SPDX-License-Identifier: Apache-2.0 */
/* Tests functions that the walk copied, with code objects of CPython. */
#include "lang/copy.h"

#include <stddef.h>
#include <string.h>

#include "lang/functions.h"
#include "memory.h"
#include "tests/test.h"

enum { VM = 1, LINE = 40 };

static const uint8_t LINES[] = { 0x80 | 11 << 3, 0, 0 };

/* A process with one function, its copy, and a registry. */
struct world {
	struct memory m;
	uint64_t code;
	struct function_record rec;
	struct langs *l;
};

static void add_range(struct world *w, uint64_t at, size_t len)
{
	struct function_range *r = &w->rec.ranges[w->rec.n_ranges++];

	*r = (struct function_range){ at, (uint32_t)len, w->rec.n_bytes };
	memcpy(w->rec.bytes + r->off, memory_at(&w->m, at), len);
	w->rec.n_bytes += (uint32_t)len;
}

static size_t record_len(const struct world *w)
{
	return offsetof(struct function_record, bytes) + w->rec.n_bytes;
}

static int setup(void **state)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	memory_init(&w.m, 11);
	w.code = memory_code(&w.m, "Page.render", LINE, LINES, sizeof(LINES));
	w.rec.words[0] = VM_FRAME_WORD(0, VM, w.code);
	w.rec.words[1] = (uint64_t)w.m.python[VM].code_bytecode << 32 | memory_cookie(&w.m, w.code);
	add_range(&w, MEMORY_AT, w.m.len);
	*state = &w;
	return langs_new(&w.l, &w.m.tables, false);
}

static int teardown(void **state)
{
	struct world *w = *state;

	langs_free(w->l);
	return 0;
}

/* The process ends. */
static void end_process(struct world *w)
{
	w->m.len = 0;
}

/* Removes the line table, which is after the code object's own words, from the copy. */
static void cut_lines(struct world *w)
{
	uint64_t table;
	size_t before, after;

	memcpy(&table, memory_at(&w->m, w->code + w->m.python[VM].code_lines), sizeof(table));
	before = table - MEMORY_AT;
	after = before + 48;
	w->rec.n_ranges = w->rec.n_bytes = 0;
	add_range(w, MEMORY_AT, before);
	add_range(w, MEMORY_AT + after, w->m.len - after);
}

/* Returns the FRAME_SCRIPT word of a frame in the function. */
static uint64_t script(struct world *w)
{
	return langs_script_word(w->l, &w->m.process, (const uint64_t *)w->rec.words);
}

static struct symbol_frame name_frame(struct world *w)
{
	struct symbol_frame f;

	langs_symbolize(w->l, script(w), &f);
	return f;
}

static void a_copied_function_has_a_name_when_its_process_has_ended(void **state)
{
	struct world *w = *state;
	struct symbol_frame f;

	assert_true(lang_copy_is_valid(&w->rec, record_len(w)));
	end_process(w);
	langs_add_copy(w->l, &w->m.process, &w->rec);
	f = name_frame(w);
	assert_string_equal(f.name, "Page.render");
	assert_string_equal(f.file, "memory.py");
	assert_int_equal(f.line, LINE + 1);
}

static void without_its_line_table_it_has_its_first_line(void **state)
{
	struct world *w = *state;
	struct symbol_frame f;

	cut_lines(w);
	end_process(w);
	langs_add_copy(w->l, &w->m.process, &w->rec);
	f = name_frame(w);
	assert_string_equal(f.name, "Page.render");
	assert_int_equal(f.line, LINE);
}

static void what_the_copy_lacks_is_read_from_the_process(void **state)
{
	struct world *w = *state;

	cut_lines(w);
	langs_add_copy(w->l, &w->m.process, &w->rec);
	end_process(w);
	assert_int_equal(name_frame(w).line, LINE + 1);
}

/* The process has another function there by now. */
static void a_part_of_another_function_is_not_used(void **state)
{
	struct world *w = *state;

	cut_lines(w);
	memory_put(&w->m, w->code + w->m.python[VM].code_qualname,
		   memory_string(&w->m, "other", 5, 1, true));
	langs_add_copy(w->l, &w->m.process, &w->rec);
	assert_string_equal(name_frame(w).name, "Page.render");
	assert_int_equal(name_frame(w).line, LINE);
}

static void a_copy_with_another_cookie_names_nothing(void **state)
{
	struct world *w = *state;

	w->rec.words[1] ^= 2;
	langs_add_copy(w->l, &w->m.process, &w->rec);
	end_process(w);
	assert_string_equal(name_frame(w).name, "[unreadable function]");
	w->rec.words[1] ^= 2;
	assert_string_equal(name_frame(w).name, "[unreadable function]");
}

static void a_copy_names_a_function_that_was_unreadable(void **state)
{
	struct world *w = *state;

	end_process(w);
	assert_string_equal(name_frame(w).name, "[unreadable function]");
	langs_add_copy(w->l, &w->m.process, &w->rec);
	assert_string_equal(name_frame(w).name, "Page.render");
}

static void a_second_copy_changes_nothing(void **state)
{
	struct world *w = *state;
	uint64_t word;

	end_process(w);
	langs_add_copy(w->l, &w->m.process, &w->rec);
	word = script(w);
	w->rec.n_ranges = 0;
	langs_add_copy(w->l, &w->m.process, &w->rec);
	assert_int_equal(script(w), word);
	assert_string_equal(name_frame(w).name, "Page.render");
}

static void a_copy_without_the_function_names_nothing(void **state)
{
	struct world *w = *state;

	end_process(w);
	w->rec.n_ranges = 0;
	langs_add_copy(w->l, &w->m.process, &w->rec);
	assert_string_equal(name_frame(w).name, "[unreadable function]");
}

static void records_that_claim_too_much_are_refused(void **state)
{
	struct world *w = *state;
	struct function_record rec = w->rec;
	size_t len = record_len(w);

	assert_false(lang_copy_is_valid(&rec, len - 1));
	assert_false(lang_copy_is_valid(&rec, offsetof(struct function_record, bytes) - 1));
	rec.n_ranges = FUNCTION_RANGES_MAX + 1;
	assert_false(lang_copy_is_valid(&rec, len));
	rec = w->rec;
	rec.n_bytes = FUNCTION_BYTES + 1;
	assert_false(lang_copy_is_valid(&rec, sizeof(rec) + 1));
	rec = w->rec;
	rec.ranges[0].len++;
	assert_false(lang_copy_is_valid(&rec, len));
	rec = w->rec;
	rec.ranges[0].off = UINT32_MAX;
	assert_false(lang_copy_is_valid(&rec, len));
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_GROUP(test_copy, WORLD_TEST(a_copied_function_has_a_name_when_its_process_has_ended),
	   WORLD_TEST(without_its_line_table_it_has_its_first_line),
	   WORLD_TEST(what_the_copy_lacks_is_read_from_the_process),
	   WORLD_TEST(a_part_of_another_function_is_not_used),
	   WORLD_TEST(a_copy_with_another_cookie_names_nothing),
	   WORLD_TEST(a_copy_names_a_function_that_was_unreadable),
	   WORLD_TEST(a_second_copy_changes_nothing),
	   WORLD_TEST(a_copy_without_the_function_names_nothing),
	   WORLD_TEST(records_that_claim_too_much_are_refused))
