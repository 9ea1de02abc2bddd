/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>

#include "tests/test.h"

static void grows_and_keeps_its_elements(void **state)
{
	struct {
		VEC(uint32_t);
	} v = { 0 };

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i * 3), 0);
	assert_int_equal(v.len, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(v.data[i], i * 3);
	vec_fini(&v);
	assert_null(v.data);
}

static void a_large_array_has_at_most_a_quarter_in_reserve(void **state)
{
	struct {
		VEC(uint64_t);
	} v = { 0 };

	for (uint64_t i = 0; i < VEC_LARGE; i++) {
		assert_int_equal(vec_push(&v, i), 0);
		assert_true(v.cap <= 2 * v.len || v.len <= 8);
		if (v.len * sizeof(i) > VEC_LARGE)
			assert_true(v.cap <= v.len + v.len / 4);
	}
	vec_fini(&v);
}

static void refuses_a_size_that_overflows(void **state)
{
	void *data = NULL;
	size_t cap = 0;

	assert_int_equal(vec_grow(&data, &cap, SIZE_MAX / 2, 16), -ENOMEM);
	assert_int_equal(vec_grow(&data, &cap, SIZE_MAX, 1), -ENOMEM);
	assert_null(data);
}

TEST_GROUP(test_vec, TEST(grows_and_keeps_its_elements),
	   TEST(a_large_array_has_at_most_a_quarter_in_reserve),
	   TEST(refuses_a_size_that_overflows))
