/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "lang/v8/heap.h"
#include "tests/test.h"
#include "v8_memory.h"

enum {
	LENGTH = 12, /* offsets in strings */
	FIRST = 16,
	SECOND = 24,
	UNMAPPED = 0x7f0000000000,
};

static uint64_t reference(struct v8_memory *v, uint16_t type, uint64_t to, uint32_t n)
{
	uint64_t at = v8_memory_object(v, type, 32);

	memcpy(memory_at(&v->m, at + LENGTH), &n, sizeof(n));
	v8_memory_put_object(v, at + FIRST, to);
	return at;
}

static uint64_t sliced(struct v8_memory *v, uint64_t parent, int32_t from, uint32_t n)
{
	uint64_t at = reference(v, V8_STRING_SLICED, parent, n);

	v8_memory_put_smi(v, at + SECOND, from);
	return at;
}

/* Checks the text of a string; NULL: it cannot be read. */
static void check(struct v8_memory *v, uint64_t object, const char *want)
{
	struct buf b = { 0 };
	struct v8_heap h;
	int r;

	v8_memory_heap(v, &h);
	r = v8_put_string(&h, object, &b);
	if (want) {
		assert_int_equal(r, 0);
		assert_int_equal(b.len, strlen(want));
		if (b.len)
			assert_memory_equal(b.data, want, b.len);
	} else {
		assert_true(r < 0);
	}
	assert_true(b.len <= 3 * LANG_NAME_MAX);
	buf_fini(&b);
}

static void slices_and_aliases_lead_to_characters(void **state)
{
	struct v8_memory *v = *state;
	uint64_t whole = v8_memory_string(v, "0123456789");
	uint64_t part = sliced(v, whole, 3, 5), flat;

	check(v, whole, "0123456789");
	check(v, part, "34567");
	check(v, sliced(v, part, 1, 2), "45");
	check(v, sliced(v, whole, 10, 0), "");
	check(v, reference(v, V8_STRING_THIN, part, 5), "34567");
	check(v, sliced(v, reference(v, V8_STRING_THIN, whole, 10), 8, 2), "89");
	flat = v8_memory_cons(v, part, v8_memory_string(v, ""), 5);
	check(v, sliced(v, flat, 4, 1), "7");
}

/* Next to the resource, the string has the address of the characters. */
static void characters_may_be_outside_of_the_heap(void **state)
{
	struct v8_memory *v = *state;
	uint64_t at = reference(v, V8_STRING_EXTERNAL, 0, 4);

	memory_put(&v->m, at + SECOND, memory_add(&v->m, "text", 4));
	check(v, at, "text");
	check(v, sliced(v, at, 1, 2), "ex");
	memory_put(&v->m, at + SECOND, UNMAPPED);
	check(v, at, NULL);
}

static void a_slice_outside_of_its_parent_is_refused(void **state)
{
	struct v8_memory *v = *state;
	uint64_t whole = v8_memory_string(v, "0123456789");
	struct v8_text text;
	struct v8_heap h;

	v8_memory_heap(v, &h);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, 8, 3), &text), -EBADMSG);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, 11, 0), &text), -EBADMSG);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, -1, 2), &text), -EBADMSG);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, INT32_MAX, 2), &text), -EBADMSG);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, 0, 1u << 30), &text), -EBADMSG);
	assert_int_equal(v8_get_text(&h, sliced(v, whole, 0, UINT32_MAX), &text), -EBADMSG);
}

static void many_slices_do_not_overflow(void **state)
{
	struct v8_memory *v = *state;
	uint64_t at = v8_memory_string(v, "0123456789");
	struct v8_text text;
	struct v8_heap h;

	for (int i = 0; i < 20; i++)
		at = sliced(v, at, 1 << 28, 1);
	v8_memory_heap(v, &h);
	assert_int_equal(v8_get_text(&h, at, &text), -EBADMSG);
}

static void references_to_themselves_end(void **state)
{
	static const uint16_t types[] = { V8_STRING_THIN, V8_STRING_SLICED };
	struct v8_memory *v = *state;
	uint64_t at[2];
	struct v8_text text;
	struct v8_heap h;

	v8_memory_heap(v, &h);
	for (size_t i = 0; i < 2; i++) {
		at[i] = reference(v, types[i], 0, 4);
		v8_memory_put_object(v, at[i] + FIRST, at[i]);
		assert_int_equal(v8_get_text(&h, at[i], &text), -ELOOP);
		check(v, at[i], NULL);
	}
	v8_memory_put_object(v, at[0] + FIRST, at[1]); /* and to each other */
	v8_memory_put_object(v, at[1] + FIRST, at[0]);
	assert_int_equal(v8_get_text(&h, at[0], &text), -ELOOP);
}

/* Appends "ab" @n times, as nested concatenations: each is the first or the second half. */
static void check_nested(struct v8_memory *v, int n, bool left, bool readable)
{
	uint64_t piece = v8_memory_string(v, "ab"), at = piece;
	char want[256] = "ab";

	for (int i = 1; i < n; i++) {
		at = left ? v8_memory_cons(v, at, piece, 2 * (uint32_t)i + 2)
			  : v8_memory_cons(v, piece, at, 2 * (uint32_t)i + 2);
		memcpy(want + 2 * i, "ab", 3);
	}
	check(v, at, readable ? want : NULL);
}

static void concatenations_may_nest_to_a_limit(void **state)
{
	struct v8_memory *v = *state;

	check_nested(v, 1, true, true);
	check_nested(v, 30, true, true);
	check_nested(v, 30, false, true);
	check_nested(v, 100, true, false);
	check_nested(v, 100, false, false);
}

/* The reader copies long strings in chunks of 128 characters. */
static void long_strings_are_truncated(void **state)
{
	struct v8_memory *v = *state;
	uint16_t wide[LANG_NAME_MAX + 300];
	char narrow[LANG_NAME_MAX + 300];

	for (size_t n = 120; n < sizeof(narrow) - 1; n += 67) {
		size_t len = n < LANG_NAME_MAX ? n : LANG_NAME_MAX;
		char want[LANG_NAME_MAX + 1];

		for (size_t i = 0; i < n; i++)
			wide[i] = (uint8_t)(narrow[i] = (char)('a' + i % 26));
		narrow[n] = '\0';
		memcpy(want, narrow, len);
		want[len] = '\0';
		check(v, v8_memory_string(v, narrow), want);
		check(v, v8_memory_wide_string(v, wide, n), want);
	}
}

static void names_are_utf_8_without_control_characters(void **state)
{
	static const uint16_t text[] = { 0x00,  0x1f,   0x20,   0x7e,   0x7f,   0x80,  0x7ff,
					 0x800, 0xd7ff, 0xd800, 0xdfff, 0xe000, 0xffff };
	struct v8_memory *v = *state;

	check(v, v8_memory_wide_string(v, text, sizeof(text) / 2),
	      "?? ~?\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf??\xee\x80\x80\xef\xbf\xbf");
	check(v, v8_memory_string(v, "\x01\xff\x7f"), "?\xc3\xbf?");
}

static void other_objects_are_no_strings(void **state)
{
	struct v8_memory *v = *state;
	struct v8_heap h;

	v8_memory_heap(v, &h);
	assert_true(v8_is_string(&h, v8_memory_string(v, "")));
	assert_false(v8_is_string(&h, v->script));
	assert_false(v8_is_string(&h, v8_memory_object(v, V8_OTHER, 16)));
	assert_false(v8_is_string(&h, UNMAPPED));
	check(v, v->script, NULL);
	check(v, UNMAPPED, NULL);
	check(v, v8_memory_object(v, 8 | 6, 32), NULL); /* a representation without a meaning */
	check(v, reference(v, V8_STRING_THIN, v->script, 4), NULL);
	check(v, reference(v, V8_STRING_THIN, UNMAPPED, 4), NULL);
	check(v, v8_memory_cons(v, v->script, v8_memory_string(v, "x"), 4), NULL);
}

TEST_GROUP(test_v8_strings, V8_TEST(slices_and_aliases_lead_to_characters),
	   V8_TEST(characters_may_be_outside_of_the_heap),
	   V8_TEST(a_slice_outside_of_its_parent_is_refused), V8_TEST(many_slices_do_not_overflow),
	   V8_TEST(references_to_themselves_end), V8_TEST(concatenations_may_nest_to_a_limit),
	   V8_TEST(long_strings_are_truncated), V8_TEST(names_are_utf_8_without_control_characters),
	   V8_TEST(other_objects_are_no_strings))
