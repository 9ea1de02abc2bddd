/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_places.h"

#include "tests/test.h"

static void finds_the_newest_of_overlapping_functions(void **state)
{
	enum { N = 300, SPAN = 1000 };
	struct jit_places places = { 0 };
	int newest[SPAN + 100];
	uint64_t addrs[SPAN + 100];

	srandom(1);
	memset(newest, 0xff, sizeof(newest));
	for (unsigned int a = 0; a < SPAN + 100; a++)
		addrs[a] = SPAN + 99 - a;
	assert_int_equal(jit_places_add(&places, addrs, SPAN + 100), 0);
	assert_int_equal(jit_places_add(&places, addrs, 10), 0);
	assert_int_equal(places.len, SPAN + 100);
	for (int i = 0; i < N; i++) {
		unsigned int start = 1 + (unsigned int)random() % SPAN;
		unsigned int size = (unsigned int)random() % 90;
		struct jit_text name = { (uint64_t)i, 1 };

		jit_places_put(&places, start, size, &name);
		for (unsigned int a = start; a < start + size; a++)
			newest[a] = i;
		for (unsigned int a = 0; a < SPAN + 100; a++) {
			assert_int_equal(!!places.data[a].size, newest[a] >= 0);
			if (newest[a] >= 0)
				assert_int_equal(places.data[a].name.off, newest[a]);
		}
	}
	jit_places_reset(&places);
	assert_int_equal(places.data[500].size, 0);
	assert_int_equal(places.data[500].addr, 500);
	vec_fini(&places);
}

static void empty_and_wrapping_functions_are_ignored(void **state)
{
	static const uint64_t addrs[] = { 0, 5, UINT64_MAX - 1 };
	static const struct jit_text name = { 0, 1 };
	struct jit_places places = { 0 };

	assert_int_equal(jit_places_add(&places, addrs, 3), 0);
	jit_places_put(&places, 5, 0, &name);
	jit_places_put(&places, 5, UINT64_MAX, &name);
	jit_places_put(&places, UINT64_MAX - 1, 3, &name);
	for (int i = 0; i < 3; i++)
		assert_int_equal(places.data[i].size, 0);
	jit_places_put(&places, 0, 1, &name);
	jit_places_put(&places, UINT64_MAX - 1, 1, &name);
	assert_int_equal(places.data[0].size, 1);
	assert_int_equal(places.data[1].size, 0);
	assert_int_equal(places.data[2].size, 1);
	vec_fini(&places);
}

TEST_GROUP(test_jit_places, TEST(finds_the_newest_of_overlapping_functions),
	   TEST(empty_and_wrapping_functions_are_ignored))
