/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/v8/heap.h"

#include <errno.h>

#include "tests/test.h"
#include "v8_memory.h"

enum { LENGTH = 8, ELEMENTS = 16, UNMAPPED = 0x7f0000000000 };

static void a_reference_has_a_tag(void **state)
{
	static const uint64_t none[] = { 0, 1, 3, 0x10000, 0x10002, 7ULL << 32 };
	struct v8_memory *v = *state;
	uint64_t at = memory_add(&v->m, NULL, 8), object;
	struct v8_heap h;

	v8_memory_heap(v, &h);
	memory_put(&v->m, at, 0x10001);
	assert_int_equal(v8_get_object(&h, at, &object), 0);
	assert_int_equal(object, 0x10000);
	memory_put(&v->m, at, 0x10003); /* weak */
	assert_int_equal(v8_get_object(&h, at, &object), 0);
	assert_int_equal(object, 0x10000);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		memory_put(&v->m, at, none[i]);
		assert_int_equal(v8_get_object(&h, at, &object), -EBADMSG);
	}
	assert_int_equal(v8_get_object(&h, UNMAPPED, &object), -EFAULT);
}

static void a_small_integer_is_in_the_upper_half(void **state)
{
	static const int32_t numbers[] = { 0, 1, -1, INT32_MAX, INT32_MIN };
	struct v8_memory *v = *state;
	uint64_t at = memory_add(&v->m, NULL, 8);
	struct v8_heap h;
	int32_t n;

	v8_memory_heap(v, &h);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		v8_memory_put_smi(v, at, numbers[i]);
		assert_int_equal(v8_get_smi(&h, at, &n), 0);
		assert_int_equal(n, numbers[i]);
	}
	memory_put(&v->m, at, 1);
	assert_int_equal(v8_get_smi(&h, at, &n), -EBADMSG);
	assert_int_equal(v8_get_smi(&h, UNMAPPED, &n), -EFAULT);
}

static void an_object_has_the_type_of_its_map(void **state)
{
	struct v8_memory *v = *state;
	uint64_t object = v8_memory_object(v, V8_OTHER, 16);
	struct v8_heap h;

	v8_memory_heap(v, &h);
	assert_int_equal(v8_type(&h, object), V8_OTHER);
	memory_put(&v->m, object, 0x10000); /* the map without its tag */
	assert_true(v8_type(&h, object) < 0);
	memory_put(&v->m, object, UNMAPPED | 1);
	assert_true(v8_type(&h, object) < 0);
	assert_true(v8_type(&h, UNMAPPED) < 0);
}

static void lengths_of_arrays_are_limited(void **state)
{
	static const int32_t bad[] = { -1, INT32_MIN, INT32_MAX, (1 << 24) + 1 };
	struct v8_memory *v = *state;
	uint64_t bytes = v8_memory_bytes(v, "abc", 3), at = memory_add(&v->m, NULL, 8);
	struct v8_array array;
	struct v8_heap h;
	uint8_t *copy;
	size_t len;

	v8_memory_heap(v, &h);
	v8_memory_put_object(v, at, bytes);
	assert_int_equal(v8_get_array(&h, bytes, &array), 0);
	assert_int_equal(array.n, 3);
	assert_int_equal(array.at, bytes + ELEMENTS);
	assert_int_equal(v8_get_bytes(&h, at, &copy, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(copy, "abc", 3);
	free(copy);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		v8_memory_put_smi(v, bytes + LENGTH, bad[i]);
		assert_int_equal(v8_get_array(&h, bytes, &array), -EBADMSG);
		assert_int_equal(v8_get_bytes(&h, at, &copy, &len), -EBADMSG);
	}
	memory_put(&v->m, bytes + LENGTH, 5);
	assert_int_equal(v8_get_array(&h, bytes, &array), -EBADMSG);
}

static void bytes_beyond_the_memory_are_an_error(void **state)
{
	struct v8_memory *v = *state;
	uint64_t bytes = v8_memory_bytes(v, "abc", 3), at = memory_add(&v->m, NULL, 8);
	struct v8_heap h;
	uint8_t *copy;
	size_t len;

	v8_memory_heap(v, &h);
	v8_memory_put_object(v, at, bytes);
	v8_memory_put_smi(v, bytes + LENGTH, 1 << 20);
	assert_int_equal(v8_get_bytes(&h, at, &copy, &len), -EFAULT);
	v8_memory_put_smi(v, bytes + LENGTH, (1 << 20) + 1);
	assert_int_equal(v8_get_bytes(&h, at, &copy, &len), -EBADMSG);
	v8_memory_put_smi(v, bytes + LENGTH, 0);
	assert_int_equal(v8_get_bytes(&h, at, &copy, &len), 0);
	assert_int_equal(len, 0);
	free(copy);
	memory_put(&v->m, at, 0);
	assert_int_equal(v8_get_bytes(&h, at, &copy, &len), -EBADMSG);
}

/* Up to version 8, an object with the table and a cache may be in between. */
static void early_versions_may_hold_positions_in_an_object(void **state)
{
	struct v8_memory *v = *state;
	uint64_t holder = v8_memory_object(v, V8_OTHER, 24), at = memory_add(&v->m, NULL, 8);
	struct v8_heap h;
	uint8_t *table;
	size_t len;

	v8_memory_put_object(v, holder + 8, v8_memory_bytes(v, "xy", 2));
	v8_memory_put_object(v, at, holder);
	v->v8[1].major = 8;
	v8_memory_heap(v, &h);
	assert_int_equal(v8_get_positions(&h, at, &table, &len), 0);
	assert_int_equal(len, 2);
	free(table);
	v->v8[1].major = 9;
	v8_memory_heap(v, &h);
	assert_int_equal(v8_get_positions(&h, at, &table, &len), -EBADMSG);
}

static void versions_before_7_are_not_supported(void **state)
{
	struct v8_memory *v = *state;
	struct v8_heap h;

	v->v8[1].major = 6;
	v->v8[1].minor = 99;
	assert_int_equal(v8_heap_init(&h, &v->v8[1], 1, &v->m.process), -ENOENT);
}

/* Every version that is supported has a layout without contradictions. */
static void the_shape_of_every_version_is_plausible(void **state)
{
	struct v8_memory *v = *state;

	for (uint8_t major = 7; major <= 15; major++)
		for (uint8_t minor = 0; minor <= 9; minor++) {
			const struct v8_shape *s;
			struct v8_heap h;

			v->v8[1].major = major;
			v->v8[1].minor = minor;
			v8_memory_heap(v, &h);
			s = &h.shape;
			assert_int_equal(s->split, major >= 11);
			assert_true(s->kind_baseline <= s->kind_top && s->kind_top <= s->kind_mask);
			/* Without baseline code no kind lies between these. */
			assert_int_equal(s->kind_top - s->kind_baseline, major < 9 ? 0 : 2);
			assert_int_equal(s->code_positions - s->code_deopt, 8);
			assert_true(s->deopt_literals < s->deopt_shared);
			assert_true(s->deopt_shared < s->deopt_inlined);
			assert_true(s->scope_first == 3 || s->scope_first == 5);
			assert_int_equal(s->instructions % 8, 0);
		}
}

static void exported_values_replace_those_of_the_version(void **state)
{
	struct v8_memory *v = *state;
	struct v8_heap h;

	v->v8[1].f.code_start = 72;
	v->v8[1].f.deopt_literals = 4;
	v->v8[1].f.deopt_shared = UINT8_MAX; /* too large for an index */
	v->v8[1].f.deopt_positions = -5;
	v8_memory_heap(v, &h);
	assert_int_equal(h.shape.instructions, 72);
	assert_int_equal(h.shape.deopt_literals, 4);
	assert_int_equal(h.shape.deopt_shared, 6);
	assert_int_equal(h.shape.deopt_inlined, 7);
}

TEST_GROUP(test_v8_heap, V8_TEST(a_reference_has_a_tag),
	   V8_TEST(a_small_integer_is_in_the_upper_half),
	   V8_TEST(an_object_has_the_type_of_its_map), V8_TEST(lengths_of_arrays_are_limited),
	   V8_TEST(bytes_beyond_the_memory_are_an_error),
	   V8_TEST(early_versions_may_hold_positions_in_an_object),
	   V8_TEST(versions_before_7_are_not_supported),
	   V8_TEST(the_shape_of_every_version_is_plausible),
	   V8_TEST(exported_values_replace_those_of_the_version))
