/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: src/store/columns.c
 */
#include "store/block.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

static void a_column_that_is_a_multiple_is_read_back(void **state)
{
	static const uint32_t nodes[] = { 3, 4, 1000, UINT32_MAX };
	static const int64_t values[] = { 1, 10, -5, 0, 0, 7, -3, -30, -8, 2, 20, INT64_MIN };
	_cleanup_(columns_writer_fini) struct columns_writer w = { 0 };
	_cleanup_(buf_fini) struct buf out = { 0 };
	_cleanup_(block_fini) struct block b = { 0 };

	assert_int_equal(block_write(&w, nodes, values, 4, 3, &out), 0);
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(block_read(&b, out.data, out.len, k), 0);
		assert_int_equal(b.n, 4);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(b.nodes[i], nodes[i]);
			assert_true(b.values[i] == values[i * 3 + k]);
		}
	}
	assert_int_equal(block_read(&b, out.data, out.len, 3), -EBADMSG);
}

static void damage_is_detected_or_harmless(void **state)
{
	_cleanup_(columns_writer_fini) struct columns_writer w = { 0 };
	_cleanup_(buf_fini) struct buf out = { 0 };
	_cleanup_(block_fini) struct block b = { 0 };
	uint32_t nodes[200];
	int64_t values[400];
	unsigned int seed = 1;

	for (uint32_t i = 0; i < 200; i++) {
		nodes[i] = i * 7;
		values[2 * i] = rand_r(&seed) % 100;
		values[2 * i + 1] = rand_r(&seed);
	}
	assert_int_equal(block_write(&w, nodes, values, 200, 2, &out), 0);
	for (size_t len = 0; len < out.len; len++)
		assert_int_equal(block_read(&b, out.data, len, 1), -EBADMSG);
	for (int i = 0; i < 5000; i++) {
		uint8_t *at = &out.data[(size_t)rand_r(&seed) % out.len], old = *at;

		*at = (uint8_t)rand_r(&seed);
		block_read(&b, out.data, out.len, (size_t)i % 2);
		*at = old;
	}
	assert_int_equal(block_read(&b, out.data, out.len, 1), 0);
}

static void a_large_block_is_compressed(void **state)
{
	enum { N = 20000 };
	_cleanup_(columns_writer_fini) struct columns_writer w = { 0 };
	_cleanup_(buf_fini) struct buf out = { 0 };
	_cleanup_(block_fini) struct block b = { 0 };
	_cleanup_(freep) uint32_t *nodes = malloc(N * sizeof(*nodes));
	_cleanup_(freep) int64_t *values = malloc(N * sizeof(*values));

	for (uint32_t i = 0; i < N; i++) {
		nodes[i] = 3 * i;
		values[i] = i % 10;
	}
	assert_int_equal(block_write(&w, nodes, values, N, 1, &out), 0);
	assert_true(out.len < N);
	assert_int_equal(block_read(&b, out.data, out.len, 0), 0);
	assert_int_equal(b.n, N);
	for (uint32_t i = 0; i < N; i++)
		assert_true(b.nodes[i] == nodes[i] && b.values[i] == values[i]);
	for (size_t len = 0; len < out.len; len += 7)
		assert_int_equal(block_read(&b, out.data, len, 0), -EBADMSG);
}

static void a_sum_is_compressed_and_a_short_one_is_not(void **state)
{
	enum { N = 1300 }; /* rows of two hours */
	_cleanup_(columns_writer_fini) struct columns_writer w = { 0 };
	_cleanup_(buf_fini) struct buf plain = { 0 }, sum = { 0 }, few = { 0 };
	_cleanup_(block_fini) struct block b = { 0 };
	uint32_t nodes[N];
	int64_t values[N];

	for (uint32_t i = 0; i < N; i++) {
		nodes[i] = i * 8 + i % 3;
		values[i] = i % 5 + 1;
	}
	assert_int_equal(block_write(&w, nodes, values, N, 1, &plain), 0);
	assert_int_equal(block_write_sum(&w, nodes, values, N, 1, &sum), 0);
	assert_true(sum.len < plain.len / 2);
	assert_int_equal(block_read(&b, sum.data, sum.len, 0), 0);
	assert_int_equal(b.n, N);
	assert_memory_equal(b.nodes, nodes, sizeof(nodes));
	assert_memory_equal(b.values, values, sizeof(values));
	assert_int_equal(block_write_sum(&w, nodes, values, 100, 1, &few), 0);
	assert_int_equal(few.data[0], 0);
}

TEST_GROUP(test_block, TEST(a_large_block_is_compressed),
	   TEST(a_sum_is_compressed_and_a_short_one_is_not),
	   TEST(a_column_that_is_a_multiple_is_read_back), TEST(damage_is_detected_or_harmless))
