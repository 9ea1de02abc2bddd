/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

struct blobs {
	struct buf heads, rows;
};

static void blobs_fini(struct blobs *b)
{
	buf_fini(&b->heads);
	buf_fini(&b->rows);
}

/* Some windows have no rows, some no id; the second type is a multiple in every other pack. */
static void make_random(struct pack *p, unsigned int *seed, size_t n, size_t n_types)
{
	pack_clear(p);
	p->n_types = n_types;
	for (size_t i = 0; i < n; i++) {
		struct pack_window w = { .time_ns = (int64_t)i * 15000000000 + rand_r(seed) % 1000,
					 .block = rand_r(seed) % 100000,
					 .duration_ns = rand_r(seed) % 3 ? 15000000000 : INT64_MAX,
					 .period = rand_r(seed) % 2 ? 10000000 : -1,
					 .has_id = rand_r(seed) % 3 };
		uint32_t node = 0;
		int64_t v = 0;

		w.id = w.has_id ? (int64_t)(rand_r(seed) * 0x9e3779b97f4a7c15ULL) : 0;
		for (int k = rand_r(seed) % 30; k > 0; k--) {
			node += 1 + (uint32_t)rand_r(seed) % 2000;
			assert_int_equal(vec_push(&p->nodes, node), 0);
			for (size_t t = 0; t < n_types; t++) {
				v = t && n % 2 ? v * 7 : rand_r(seed) % 100 - 5;
				assert_int_equal(vec_push(&p->values, v), 0);
			}
		}
		w.end = p->nodes.len;
		for (size_t t = 0; t < n_types; t++)
			assert_int_equal(vec_push(&p->totals, rand_r(seed) - 1000000), 0);
		assert_int_equal(vec_push(&p->windows, w), 0);
	}
}

static void write_pack(const struct pack *p, struct blobs *out)
{
	_cleanup_(pack_writer_fini) struct pack_writer w = { 0 };

	assert_int_equal(pack_write_heads(&w, p, &out->heads), 0);
	assert_int_equal(pack_write_rows(&w, p, &out->rows), 0);
}

static void assert_heads_equal(const struct pack *a, const struct pack *b)
{
	assert_int_equal(a->windows.len, b->windows.len);
	for (size_t i = 0; i < a->windows.len; i++) {
		const struct pack_window *x = &a->windows.data[i], *y = &b->windows.data[i];

		assert_true(x->time_ns == y->time_ns && x->block == y->block && x->id == y->id &&
			    x->has_id == y->has_id && x->duration_ns == y->duration_ns &&
			    x->period == y->period);
	}
	if (a->totals.len)
		assert_memory_equal(a->totals.data, b->totals.data,
				    a->totals.len * sizeof(*a->totals.data));
}

static void assert_rows_equal(const struct pack *a, const struct pack *b, size_t type)
{
	assert_int_equal(a->nodes.len, b->nodes.len);
	for (size_t i = 0; i < a->windows.len; i++)
		assert_int_equal(a->windows.data[i].end, b->windows.data[i].end);
	for (size_t i = 0; i < a->nodes.len; i++) {
		assert_int_equal(a->nodes.data[i], b->nodes.data[i]);
		assert_int_equal(a->values.data[i * a->n_types + type], b->values.data[i]);
	}
}

static void packs_are_read_as_they_were_written(void **state)
{
	_cleanup_(pack_fini) struct pack p = { 0 }, back = { 0 };
	_cleanup_(pack_reader_fini) struct pack_reader rd = { 0 };
	unsigned int seed = 1;

	for (size_t n = 0; n < 60; n++) {
		_cleanup_(blobs_fini) struct blobs b = { 0 };

		make_random(&p, &seed, n, 1 + n % 4);
		write_pack(&p, &b);
		assert_int_equal(pack_read_heads(&rd, &back, b.heads.data, b.heads.len), 0);
		assert_heads_equal(&p, &back);
		for (size_t t = 0; t < p.n_types; t++) {
			assert_int_equal(pack_read_rows(&rd, &back, b.rows.data, b.rows.len, t), 0);
			assert_rows_equal(&p, &back, t);
		}
		assert_int_equal(pack_read_rows(&rd, &back, b.rows.data, b.rows.len, p.n_types),
				 -EBADMSG);
	}
}

static void sums_are_those_of_all_rows(void **state)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	_cleanup_(pack_writer_fini) struct pack_writer w = { 0 };
	_cleanup_(buf_fini) struct buf rows = { 0 };
	_cleanup_(freep) uint32_t *nodes = NULL;
	_cleanup_(freep) int64_t *values = NULL;
	unsigned int seed = 2;
	size_t n;

	make_random(&p, &seed, 40, 2);
	assert_int_equal(pack_write_rows(&w, &p, &rows), 0);
	nodes = malloc(p.nodes.len * sizeof(*nodes));
	values = malloc(p.values.len * sizeof(*values));
	n = pack_sum(&w, &p, nodes, values);
	for (size_t i = 0; i < n; i++) {
		int64_t want[2] = { 0 };

		assert_true(i == 0 || nodes[i] > nodes[i - 1]);
		for (size_t k = 0; k < p.nodes.len; k++)
			for (size_t t = 0; p.nodes.data[k] == nodes[i] && t < 2; t++)
				want[t] += p.values.data[k * 2 + t];
		assert_memory_equal(values + 2 * i, want, sizeof(want));
	}
}

/* Reads both blobs as a query does; results must lie within the arrays. */
static int read_both(struct pack_reader *rd, struct pack *p, const uint8_t *heads, size_t heads_len,
		     const uint8_t *rows, size_t rows_len)
{
	int r = pack_read_heads(rd, p, heads, heads_len);

	if (r == 0)
		r = pack_read_rows(rd, p, rows, rows_len, 0);
	for (size_t i = 0; r == 0 && i < p->windows.len; i++)
		assert_true(pack_begin(p, i) <= p->windows.data[i].end &&
			    p->windows.data[i].end <= p->nodes.len);
	return r;
}

/* Small packs are not compressed, so that changed bytes reach the columns. */
static void damage_is_refused_or_read_within_bounds(void **state)
{
	_cleanup_(pack_fini) struct pack p = { 0 }, back = { 0 };
	_cleanup_(pack_reader_fini) struct pack_reader rd = { 0 };
	_cleanup_(blobs_fini) struct blobs b = { 0 };
	unsigned int seed = 3;
	int refused = 0;

	make_random(&p, &seed, 4, 2);
	write_pack(&p, &b);
	for (size_t i = 0; i < (b.heads.len + b.rows.len) * 256; i++) {
		_cleanup_(freep) uint8_t *heads = malloc(b.heads.len), *rows = malloc(b.rows.len);
		size_t at = i / 256;

		memcpy(heads, b.heads.data, b.heads.len);
		memcpy(rows, b.rows.data, b.rows.len);
		if (at < b.heads.len)
			heads[at] = (uint8_t)i;
		else
			rows[at - b.heads.len] = (uint8_t)i;
		refused += read_both(&rd, &back, heads, b.heads.len, rows, b.rows.len) == -EBADMSG;
	}
	assert_true(refused > 1000);
	for (size_t len = 0; len < b.rows.len; len++) {
		_cleanup_(freep) uint8_t *rows = malloc(len + 1);

		memcpy(rows, b.rows.data, len);
		assert_int_equal(read_both(&rd, &back, b.heads.data, b.heads.len, rows, len),
				 -EBADMSG);
	}
}

TEST_GROUP(test_pack, TEST(packs_are_read_as_they_were_written), TEST(sums_are_those_of_all_rows),
	   TEST(damage_is_refused_or_read_within_bounds))
