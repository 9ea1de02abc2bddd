/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/test.h"

enum { N = 1000 };

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Few of N random hashes have the same slot of a table of 2^16. */
static void expect_spread(uint32_t hashes[N])
{
	int n_equal = 0;

	for (int i = 0; i < N; i++)
		hashes[i] &= UINT16_MAX;
	qsort(hashes, N, sizeof(hashes[0]), by_value);
	for (int i = 1; i < N; i++)
		n_equal += hashes[i] == hashes[i - 1];
	assert_in_range(n_equal, 0, N / 10);
}

/* The word that Murmur3's finalizer maps to @v. */
static uint64_t inverse(uint64_t v)
{
	v ^= v >> 33;
	v *= 0x9cb4b2f8129337dbULL;
	v ^= v >> 33;
	v *= 0x4f74430c22a54005ULL;
	return v ^ v >> 33;
}

static void words_that_would_collide_without_the_seed_do_not(void **state)
{
	uint32_t hashes[N];

	assert_true(hash_mix(inverse(1) ^ hash_process_seed) == 1);
	for (uint64_t i = 0; i < N; i++)
		hashes[i] = hash_u64(inverse(i << 32 | 1));
	expect_spread(hashes);
}

static void pairs_of_one_sum_do_not_collide(void **state)
{
	uint32_t sums[N], differences[N];

	for (uint64_t i = 0; i < N; i++) {
		sums[i] = hash_pair(i << 20, 0x1234567812345678ULL - (i << 20));
		differences[i] = hash_pair(i << 20, 0x1234567812345678ULL ^ i << 20);
	}
	expect_spread(sums);
	expect_spread(differences);
}

static void texts_that_would_collide_without_the_seed_do_not(void **state)
{
	uint32_t hashes[N];
	char text[512]; /* longer than what the compiler unrolls for */
	int n = 0;

	for (int i = 0; n < N; i++) {
		int len = snprintf(text, sizeof(text), "%d", i);

		if ((XXH3_64bits(text, (size_t)len) & UINT8_MAX) == 0)
			hashes[n++] = hash_bytes(text, (size_t)len);
	}
	expect_spread(hashes);
}

TEST_GROUP(test_hash, cmocka_unit_test(words_that_would_collide_without_the_seed_do_not),
	   cmocka_unit_test(pairs_of_one_sum_do_not_collide),
	   cmocka_unit_test(texts_that_would_collide_without_the_seed_do_not))
