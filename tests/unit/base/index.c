/* SPDX-License-Identifier: Apache-2.0 */
#include "base/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tests/test.h"

static bool same_id(const void *ctx, uint32_t id)
{
	return *(const uint32_t *)ctx == id;
}

static bool has(const struct index *ix, uint32_t hash, uint32_t id)
{
	uint32_t got;

	return index_find(ix, hash, same_id, &id, &got) && got == id;
}

/* Few distinct hashes make probe runs long enough to wrap around, the hard case of a removal. */
static uint32_t poor_hash(uint32_t id)
{
	return hash_u64(id) & 0x1f;
}

static void agrees_with_a_plain_set_under_random_changes(void **state)
{
	enum { N = 400 };
	struct index ix = { 0 };
	bool model[N] = { 0 };

	srandom(1);
	for (int step = 0; step < 20000; step++) {
		uint32_t id = (uint32_t)random() % N;

		if (model[id])
			index_remove(&ix, poor_hash(id), id);
		else
			assert_int_equal(index_add(&ix, poor_hash(id), id), 0);
		model[id] = !model[id];
		if (step % 100 == 0)
			for (uint32_t i = 0; i < N; i++)
				assert_int_equal(has(&ix, poor_hash(i), i), model[i]);
	}
	index_fini(&ix);
}

static void an_empty_index_finds_nothing(void **state)
{
	struct index ix = { 0 };

	assert_false(has(&ix, 1, 1));
	index_remove(&ix, 1, 1);
}

TEST_GROUP(test_index, TEST(agrees_with_a_plain_set_under_random_changes),
	   TEST(an_empty_index_finds_nothing))
