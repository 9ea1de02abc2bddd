/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lang/v8/reader.h"
#include "tests/test.h"
#include "v8_memory.h"

int test_v8_deopt(void);

/*
 * Numbers in translations. The byte code offset is shifted left for its sign, so 4 is encoded
 * as 8, and 100 as 200 in two bytes. 0x7f is an unrelated byte.
 */
enum { START = 0, CALL = 4, FAR_CALL = 100, OTHER_BYTE = 0x7f, NOT_KNOWN = -1 };

enum { READS_MAX = 20000 };

static const struct v8_inlining inlined[] = {
	{ V8_SOURCE(V8_OUTER_START, -1), V8_INNER_LITERAL, 0 },
	{ V8_SOURCE(V8_OUTER_CALL, -1), V8_INNER_LITERAL, 0 },
};

/* Returns the corrected position of a call that returns to @pc. */
static int64_t correct(struct v8_memory *v, uint32_t pc, bool near, int64_t position)
{
	const struct v8_code c = { v->code, V8_CODE_AT, V8_CODE_BYTES,
				   *(uint8_t *)memory_at(&v->m, v->code + 48) };
	struct v8_deopt d;
	struct v8_heap h;
	size_t len = v->m.len;
	int r = v8_heap_init(&h, &v->v8[1], 1, &v->m.process);

	v->m.len = MEMORY_BYTES;
	assert_int_equal(r, 0);
	r = v8_get_deopt(&h, &c, &d);
	assert_int_equal(r, 0);
	v8_correct_call(&h, &d, pc, near, &position);
	v->m.len = len;
	return position;
}

/* Builds data with two inlinings of the inner function and the frames of one call. */
static struct v8_memory_deopt one_call(int32_t place, const uint8_t *frames, size_t len)
{
	return (struct v8_memory_deopt){
		.entries = { { place, 0, V8_CODE_PLACE } },
		.n_entries = 1,
		.inlined = inlined,
		.n_inlined = 2,
		.frames = frames,
		.frames_len = len,
	};
}

static void uses_the_function_of_the_frame(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, OTHER_BYTE };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));
	int64_t wrong = V8_SOURCE(V8_INNER_START, 0);

	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, wrong), V8_SOURCE(V8_OUTER_CALL, -1));
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
	/* No call returns there. */
	assert_int_equal(correct(v, V8_CODE_PLACE + 1, false, wrong), wrong);
	assert_int_equal(correct(v, V8_CODE_PLACE - 1, true, wrong), wrong);
}

static void the_innermost_frame_is_the_last(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, 3,
					  OTHER_BYTE, 8, 2 * V8_INNER_LITERAL, 3 };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_OUTER_START, -1)),
			 V8_SOURCE(V8_INNER_CALL, 0));
	/* The inlining called at the position in the table is preferred. */
	d = one_call(FAR_CALL, (const uint8_t[]){ OTHER_BYTE, 0xc8, 1, 2 * V8_INNER_LITERAL }, 4);
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_OUTER_START, -1)),
			 V8_SOURCE(V8_INNER_CALL, 0));
	d = one_call(START, (const uint8_t[]){ OTHER_BYTE, 0, 2 * V8_INNER_LITERAL }, 3);
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_OUTER_CALL, -1)),
			 V8_SOURCE(V8_INNER_START, 1));
}

static void retains_a_confirmed_position(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, 8,
					  2 * V8_INNER_LITERAL };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_OUTER_CALL, -1)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_CALL, 1)),
			 V8_SOURCE(V8_INNER_CALL, 1));
}

static void reads_numbers_with_the_low_continuation_bit(void **state)
{
	struct v8_memory *v = *state;
	/* byte code offset 100, literal 1 */
	static const uint8_t frames[] = { OTHER_BYTE, 0x91, 2, 4 * V8_OUTER_LITERAL };
	struct v8_memory_deopt d = one_call(FAR_CALL, frames, sizeof(frames));

	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_INNER_START, 0));
	v->v8[1].major = 8;
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
}

static void finds_shared_frames(void **state)
{
	struct v8_memory *v = *state;
	/* The frames of the second call are those of the first, four bytes back. */
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, 9, OTHER_BYTE, 4,
					  9,          9 };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	d.entries[1] = (struct v8_memory_entry){ CALL, 4, V8_CODE_PLACE + 8 };
	d.n_entries = 2;
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE + 8, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
}

static void frames_of_a_call_end_where_the_next_start(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, OTHER_BYTE,
					  0x80,       8, 2 * V8_INNER_LITERAL };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	d.entries[1] = (struct v8_memory_entry){ START, 3, -1 };
	d.n_entries = 2;
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
}

static void code_after_a_call_is_near_it(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { 9, 8, 2 * V8_INNER_LITERAL, 9, 8, 2 * V8_OUTER_LITERAL };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	d.entries[1] = (struct v8_memory_entry){ CALL, 3, V8_CODE_PLACE + 16 };
	d.entries[2] = (struct v8_memory_entry){ START, 0, -1 };
	d.n_entries = 3;
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE + 15, true, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(V8_INNER_CALL, 0));
	assert_int_equal(correct(v, V8_CODE_PLACE + 16, true, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
}

static void finds_calls_of_maglev_by_safepoints(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { 9, 8, 2 * V8_INNER_LITERAL, 9, 8, 2 * V8_OUTER_LITERAL };
	/* rows of {return address, index, exit}; in the second one index and exit are one more */
	static const uint8_t table[] = { 0xee, 0x20, 0, 0x60, 0xee, 0x30, 2, 0x81, 0xee };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	d.entries[0].pc = 0x60;
	d.entries[1] = (struct v8_memory_entry){ CALL, 3, 0x80 };
	d.n_entries = 2;
	d.is_maglev = true;
	v8_memory_put_deopt(v, &d);
	memcpy(memory_at(&v->m, V8_CODE_AT + V8_CODE_BYTES), table, sizeof(table));
	assert_int_equal(correct(v, 0x20, false, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(V8_INNER_CALL, 0));
	assert_int_equal(correct(v, 0x30, false, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
	/* No call returns to the exit. */
	assert_int_equal(correct(v, 0x60, false, V8_SOURCE(NOT_KNOWN, -1)),
			 V8_SOURCE(NOT_KNOWN, -1));
}

static void reports_the_corrected_call(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL,
					  0xc8,       1, 2 * V8_INNER_LITERAL };
	struct v8_memory_deopt d = one_call(FAR_CALL, frames, sizeof(frames));
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];
	int n;

	/* The source position table has no entry that early. */
	d.entries[0].pc = 8;
	v8_memory_put_deopt(v, &d);
	v8_memory_seal(v);
	v8_memory_code_frame(v, 8, false, words);
	n = v8_expand(&v->m.tables, 1, &v->m.process, words, calls);
	assert_int_equal(n, 2);
	assert_int_equal(calls[0].addr, v->inner);
	assert_int_equal(calls[0].place, V8_INNER_CALL);
	assert_int_equal(calls[1].addr, v->outer);
	assert_int_equal(calls[1].place, V8_OUTER_START);
}

static void skips_translations_of_excessive_length(void **state)
{
	struct v8_memory *v = *state;
	static uint8_t frames[1 << 14];
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));

	memset(frames, OTHER_BYTE, sizeof(frames));
	frames[100] = 8;
	frames[101] = 2 * V8_OUTER_LITERAL;
	v8_memory_put_deopt(v, &d);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_OUTER_CALL, -1));
	memory_put(&v->m, v->frames + 8, (uint64_t)(sizeof(frames) + 1) << 32);
	assert_int_equal(correct(v, V8_CODE_PLACE, false, V8_SOURCE(V8_INNER_START, 0)),
			 V8_SOURCE(V8_INNER_START, 0));
}

/* ---- garbage ------------------------------------------------------------------------ */

struct counted {
	struct v8_memory *v;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	size_t n;
};

static int read_counted(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct counted *c = ctx;

	c->n++;
	return c->read(&c->v->m, addr, dst, len);
}

/* Expands frames of the code; the number of bytes read must stay limited. */
static void expand_bounded(struct v8_memory *v)
{
	struct counted c = { .v = v, .read = v->m.process.read };
	struct lang_process p = v->m.process;
	struct lang_call calls[LANG_CALLS_MAX];
	uint64_t words[2];

	p.read = read_counted;
	p.ctx = &c;
	for (int leaf = 0; leaf < 2; leaf++) {
		int n;

		c.n = 0;
		v8_memory_code_frame(v, V8_CODE_PLACE, leaf, words);
		n = v8_expand(&v->m.tables, 1, &p, words, calls);
		assert_in_range(n, 1, LANG_CALLS_MAX);
		assert_in_range(c.n, 1, READS_MAX);
	}
}

static void survives_garbage_in_any_word(void **state)
{
	struct v8_memory *v = *state;
	static const uint8_t frames[] = { OTHER_BYTE, 8, 2 * V8_OUTER_LITERAL, 9, OTHER_BYTE, 4,
					  9,          9 };
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));
	uint64_t first = v->m.len + MEMORY_AT, end;
	const uint64_t garbage[] = {
		0,
		1,
		UINT64_MAX,
		1ULL << 62 | 1,
		0x7fffffffULL << 32,
		UINT64_MAX << 32,
		1ULL << 36,
		first | 1,
	};

	for (int maglev = 0; maglev < 2; maglev++) {
		d.is_maglev = maglev;
		d.entries[1] = (struct v8_memory_entry){ START, 4, V8_CODE_PLACE };
		d.n_entries = 2;
		v8_memory_put_deopt(v, &d);
		end = v->m.len + MEMORY_AT;
		v->m.len = MEMORY_BYTES;
		for (uint64_t at = first; at < end; at += 8)
			for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
				uint64_t was;

				memcpy(&was, memory_at(&v->m, at), sizeof(was));
				memory_put(&v->m, at, garbage[i]);
				expand_bounded(v);
				memory_put(&v->m, at, was);
			}
		v->m.len = end - MEMORY_AT;
	}
}

static void survives_any_translation(void **state)
{
	struct v8_memory *v = *state;
	uint8_t frames[64];
	struct v8_memory_deopt d = one_call(CALL, frames, sizeof(frames));
	size_t len = v->m.len;
	uint32_t x = 1;

	for (int i = 0; i < 400; i++) {
		for (size_t k = 0; k < sizeof(frames); k++) {
			x = x * 1664525 + 1013904223;
			frames[k] = i & 1 ? (uint8_t)(x >> 24) : (uint8_t)(x >> 24) | 0x80;
		}
		d.entries[0].place = i % 3 ? CALL : START;
		d.entries[0].begin = (int32_t)(x >> 8) % (i & 2 ? 70 : INT32_MAX);
		v8_memory_put_deopt(v, &d);
		v->m.len = MEMORY_BYTES;
		expand_bounded(v);
		v->m.len = len;
	}
}

int test_v8_deopt(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(uses_the_function_of_the_frame, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(the_innermost_frame_is_the_last, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(retains_a_confirmed_position, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(reads_numbers_with_the_low_continuation_bit,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(finds_shared_frames, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(frames_of_a_call_end_where_the_next_start,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(code_after_a_call_is_near_it, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(finds_calls_of_maglev_by_safepoints,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(reports_the_corrected_call, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(skips_translations_of_excessive_length,
						v8_memory_setup, v8_memory_teardown),
		cmocka_unit_test_setup_teardown(survives_garbage_in_any_word, v8_memory_setup,
						v8_memory_teardown),
		cmocka_unit_test_setup_teardown(survives_any_translation, v8_memory_setup,
						v8_memory_teardown),
	};

	return TEST_RUN("test_v8_deopt", tests, NULL, NULL);
}
