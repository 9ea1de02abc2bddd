/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "lang/memo.h"
#include "lang/v8/heap.h"
#include "tests/test.h"
#include "v8_memory.h"

enum {
	SOURCE = 8, /* offsets in a script */
	LINE_ENDS = 56,
	LINE_OFFSET = 24,
	COLUMN_OFFSET = 32,
	LENGTH = 12, /* in a string */
	ARRAY = 175, /* instance type of an array of words */
	UNMAPPED = 0x7f0000000000,
};

static void read_lines(struct v8_memory *v, int32_t start, int32_t end, struct lang_function *out)
{
	const struct v8_function f = {
		.script = v->script, .start = start, .end = end, .positioned = true
	};
	struct v8_heap h;

	v8_memory_heap(v, &h);
	*out = (struct lang_function){ 0 };
	assert_int_equal(v8_get_lines(&h, &f, out), 0);
}

static void check_no_lines(struct v8_memory *v)
{
	struct lang_function f;

	read_lines(v, 0, 3, &f);
	assert_null(f.lines);
	assert_int_equal(v8_line(&f, 0), 0);
	assert_int_equal(v8_column(&f, 0), 0);
}

/* ---- a model: line and column of each character, by ECMA-262, 12.3 ----------------------- */

struct model {
	uint16_t text[300];
	uint32_t line[300], column[300];
	size_t n;
};

static void fill(struct model *m, bool wide)
{
	static const uint16_t chars[] = { '\n', '\r', 'a', 'b', 0x2028, 0x2029 };
	uint32_t line = 1, column = 1;

	m->n = 1 + (size_t)random() % 250;
	for (size_t i = 0; i < m->n; i++)
		m->text[i] = chars[(size_t)random() % (wide ? 6 : 4)];
	for (size_t i = 0; i < m->n; i++) {
		uint16_t c = m->text[i];
		bool ends = c == '\n' || c >= 0x2028 ||
			    (c == '\r' && !(i + 1 < m->n && m->text[i + 1] == '\n'));

		m->line[i] = line;
		m->column[i] = column;
		line += ends;
		column = ends ? 1 : column + 1;
	}
}

static uint64_t put_model(struct v8_memory *v, const struct model *m, bool wide)
{
	char narrow[301] = "";

	if (wide)
		return v8_memory_wide_string(v, m->text, m->n);
	for (size_t i = 0; i < m->n; i++)
		narrow[i] = (char)m->text[i];
	return v8_memory_string(v, narrow);
}

static void lines_and_columns_are_those_of_the_text(void **state)
{
	struct v8_memory *v = *state;

	srandom(2);
	for (int round = 0; round < 200; round++) {
		int32_t start, end;
		struct lang_function f;
		struct model m;

		v8_memory_init(v);
		fill(&m, round % 2);
		v8_memory_put_object(v, v->script + SOURCE, put_model(v, &m, round % 2));
		start = (int32_t)((size_t)random() % m.n);
		end = start + (int32_t)((size_t)random() % (m.n - (size_t)start));
		read_lines(v, start, end, &f);
		assert_int_equal(f.first_line, m.line[start]);
		for (int32_t i = start; i <= end; i++) {
			assert_int_equal(v8_line(&f, (uint32_t)i), m.line[i]);
			assert_int_equal(v8_column(&f, (uint32_t)i), m.column[i]);
		}
		assert_int_equal(v8_line(&f, V8_POSITION_NONE), 0);
		assert_int_equal(v8_column(&f, V8_POSITION_NONE), 0);
		free(f.lines);
	}
}

/* The ends that V8 has stored may be garbage: any line may result, within the memory. */
static void garbage_in_the_line_ends_is_harmless(void **state)
{
	static const int32_t words[] = { 0, 1, 5, 20, -1, -2, INT32_MAX, INT32_MIN, 40 };
	struct v8_memory *v = *state;
	struct lang_function f;

	srandom(4);
	for (int round = 0; round < 500; round++) {
		size_t n = (size_t)random() % 12;
		uint64_t ends;

		v8_memory_init(v);
		ends = v8_memory_object(v, ARRAY, 16 + 8 * n);
		v8_memory_put_smi(v, ends + 8, (int32_t)n);
		for (size_t i = 0; i < n; i++)
			v8_memory_put_smi(v, ends + 16 + 8 * i, words[random() % 9]);
		v8_memory_put_object(v, v->script + LINE_ENDS, ends);
		read_lines(v, (int32_t)(random() % 30), 30 + (int32_t)(random() % 40), &f);
		for (uint32_t i = 0; i < 70; i++) {
			(void)v8_line(&f, i);
			(void)v8_column(&f, i);
		}
		free(f.lines);
	}
}

static void false_lengths_of_line_ends_are_not_used(void **state)
{
	static const int32_t lengths[] = { 1 << 23, -1, 1000 };
	struct v8_memory *v = *state;

	for (size_t i = 0; i < 3; i++) {
		uint64_t ends = v8_memory_object(v, ARRAY, 16);
		struct lang_function f;

		v8_memory_put_smi(v, ends + 8, lengths[i]);
		v8_memory_put_object(v, v->script + LINE_ENDS, ends);
		read_lines(v, V8_OUTER_START, 40, &f); /* by the text, as without them */
		assert_int_equal(f.first_line, 3);
		assert_int_equal(v8_line(&f, V8_OUTER_CALL), 4);
		free(f.lines);
	}
}

static void positions_beyond_the_text_are_on_its_last_line(void **state)
{
	struct v8_memory *v = *state;
	struct lang_function f;

	v8_memory_put_object(v, v->script + SOURCE, v8_memory_string(v, "a\nb\nc"));
	read_lines(v, 1000, INT32_MAX, &f);
	assert_int_equal(f.first_line, 3);
	assert_int_equal(v8_line(&f, INT32_MAX - 1), 3);
	free(f.lines);
}

static void texts_that_cannot_be_read_have_no_lines(void **state)
{
	struct v8_memory *v = *state;
	uint64_t source = v8_memory_string(v, "a\nb");
	const uint32_t too_long = (1 << 23) + 1, unmapped = 1 << 22;

	v8_memory_put_object(v, v->script + SOURCE, source);
	memcpy(memory_at(&v->m, source + LENGTH), &too_long, 4);
	check_no_lines(v);
	memcpy(memory_at(&v->m, source + LENGTH), &unmapped, 4);
	check_no_lines(v);
	v8_memory_put_object(v, v->script + SOURCE, v->script);
	check_no_lines(v);
	memory_put(&v->m, v->script + SOURCE, UNMAPPED | 1);
	check_no_lines(v);
	v->script = UNMAPPED;
	check_no_lines(v);
}

static void a_function_without_a_position_has_no_lines(void **state)
{
	struct v8_memory *v = *state;
	const struct v8_function functions[] = { { .script = v->script },
						 { .positioned = true, .end = 5 } };
	struct v8_heap h;

	v8_memory_heap(v, &h);
	for (size_t i = 0; i < 2; i++) {
		struct lang_function f = { 0 };
		struct buf b = { 0 };

		assert_int_equal(v8_get_lines(&h, &functions[i], &f), 0);
		assert_null(f.lines);
		assert_int_equal(v8_put_class(&h, &functions[i], &b), 0);
		assert_int_equal(b.len, 0);
	}
}

static void offsets_of_the_script_move_its_first_line(void **state)
{
	static const int32_t offsets[] = { 7, 0, -3, INT32_MIN };
	struct v8_memory *v = *state;

	v8_memory_put_object(v, v->script + SOURCE, v8_memory_string(v, "ab\ncd"));
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		uint32_t more = offsets[i] > 0 ? (uint32_t)offsets[i] : 0;
		struct lang_function f;

		v8_memory_put_smi(v, v->script + LINE_OFFSET, offsets[i]);
		v8_memory_put_smi(v, v->script + COLUMN_OFFSET, offsets[i]);
		read_lines(v, 0, 4, &f);
		assert_int_equal(f.first_line, 1 + more);
		assert_int_equal(v8_line(&f, 4), 2 + more);
		assert_int_equal(v8_column(&f, 1), 2 + more);
		assert_int_equal(v8_column(&f, 4), 2);
		free(f.lines);
	}
}

/* A process that counts the reads of more than 64 bytes: those of the text. */
struct counted {
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	void *ctx;
	int n;
};

static int read_text_once(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct counted *c = ctx;

	c->n += len > 64;
	return c->read(c->ctx, addr, dst, len);
}

static void the_text_is_read_once_for_lines_and_once_for_classes(void **state)
{
	struct v8_memory *v = *state;
	struct counted c = { v->m.process.read, v->m.process.ctx, 0 };
	struct v8_function fn = { .script = v->script, .start = 1, .end = 2, .positioned = true };
	struct v8_heap h;

	v->m.process.read = read_text_once;
	v->m.process.ctx = &c;
	assert_int_equal(lang_memo_new(&v->m.process.memo), 0);
	v8_memory_heap(v, &h);
	for (int i = 0; i < 5; i++) {
		struct lang_function f;
		struct buf b = { 0 };

		read_lines(v, V8_OUTER_START, 40, &f);
		assert_int_equal(f.first_line, 3);
		free(f.lines);
		assert_int_equal(v8_put_class(&h, &fn, &b), 0);
		buf_fini(&b);
	}
	assert_int_equal(c.n, 2);
	lang_memo_free(v->m.process.memo);
}

TEST_GROUP(test_v8_script, V8_TEST(lines_and_columns_are_those_of_the_text),
	   V8_TEST(garbage_in_the_line_ends_is_harmless),
	   V8_TEST(false_lengths_of_line_ends_are_not_used),
	   V8_TEST(positions_beyond_the_text_are_on_its_last_line),
	   V8_TEST(texts_that_cannot_be_read_have_no_lines),
	   V8_TEST(a_function_without_a_position_has_no_lines),
	   V8_TEST(offsets_of_the_script_move_its_first_line),
	   V8_TEST(the_text_is_read_once_for_lines_and_once_for_classes))
