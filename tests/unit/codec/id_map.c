/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/id_map.h"

#include "tests/test.h"

static void dense_ids_are_found(void **state)
{
	struct id_map m = { 0 };
	uint64_t twice;
	uint32_t v;

	assert_true(id_map_build(&m, &twice));
	assert_false(id_map_find(&m, 1, &v));
	for (uint32_t i = 1; i <= 10; i++)
		assert_int_equal(id_map_add(&m, i, i * 7), 0);
	assert_true(id_map_build(&m, &twice));
	assert_true(id_map_find(&m, 10, &v));
	assert_int_equal(v, 70);
	assert_false(id_map_find(&m, 0, &v));
	assert_false(id_map_find(&m, 11, &v));
	assert_false(id_map_find(&m, UINT64_MAX, &v));
	vec_fini(&m);
}

static void scattered_ids_are_found(void **state)
{
	static const uint64_t ids[] = { 5, UINT64_MAX, 1, 1ull << 40, 0 };
	struct id_map m = { 0 };
	uint64_t twice;
	uint32_t v;

	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(id_map_add(&m, ids[i], i), 0);
	assert_true(id_map_build(&m, &twice));
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(id_map_find(&m, ids[i], &v));
		assert_int_equal(v, i);
	}
	assert_false(id_map_find(&m, 2, &v));
	vec_fini(&m);
}

static void a_duplicate_id_is_reported(void **state)
{
	struct id_map m = { 0 };
	uint64_t twice = 0;

	assert_int_equal(id_map_add(&m, 1, 1), 0);
	assert_int_equal(id_map_add(&m, 2, 2), 0);
	assert_int_equal(id_map_add(&m, 2, 3), 0);
	assert_false(id_map_build(&m, &twice));
	assert_int_equal(twice, 2);
	vec_fini(&m);
}

TEST_GROUP(test_id_map, TEST(dense_ids_are_found), TEST(scattered_ids_are_found),
	   TEST(a_duplicate_id_is_reported))
