/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/seqtab.h"

#include "tests/test.h"

static void equal_sequences_have_one_id(void **state)
{
	const uint32_t one_two[] = { 1, 2 }, two_one[] = { 2, 1 }, three[] = { 1, 2, 3 };
	struct seqtab t;
	uint32_t a, b, c, again;

	seqtab_init(&t, sizeof(uint32_t));
	assert_int_equal(seqtab_add(&t, one_two, 2, &a), 0);
	assert_int_equal(seqtab_add(&t, two_one, 2, &b), 0);
	assert_int_equal(seqtab_add(&t, three, 3, &c), 0);
	assert_int_equal(seqtab_add(&t, three, 2, &again), 0);
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(c, 2);
	assert_int_equal(again, a);
	assert_int_equal(seqtab_count(&t), 3);
	seqtab_fini(&t);
}

static void the_empty_sequence_has_an_id_too(void **state)
{
	struct seqtab t;
	uint32_t a, b;
	size_t n = 7;

	seqtab_init(&t, sizeof(uint64_t));
	assert_int_equal(seqtab_add(&t, NULL, 0, &a), 0);
	assert_int_equal(seqtab_add(&t, NULL, 0, &b), 0);
	assert_int_equal(a, b);
	assert_null(seqtab_get(&t, a, &n));
	assert_int_equal(n, 0);
	seqtab_fini(&t);
}

static void sequences_are_found_after_growth(void **state)
{
	struct seqtab t;
	uint64_t v[3];
	uint32_t id;
	size_t n;

	seqtab_init(&t, sizeof(uint64_t));
	for (uint64_t i = 0; i < 5000; i++) {
		v[0] = v[1] = v[2] = i;
		assert_int_equal(seqtab_add(&t, v, i % 3 + 1, &id), 0);
		assert_int_equal(id, i);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		const uint64_t *got = seqtab_get(&t, i, &n);

		assert_int_equal(n, i % 3 + 1);
		assert_int_equal(got[n - 1], i);
	}
	assert_true(seqtab_bytes(&t) >= 5000 * 2 * sizeof(uint64_t));
	seqtab_fini(&t);
}

TEST_GROUP(test_seqtab, TEST(equal_sequences_have_one_id), TEST(the_empty_sequence_has_an_id_too),
	   TEST(sequences_are_found_after_growth))
