/* SPDX-License-Identifier: Apache-2.0 */
#include "store/window.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "fixture.h"
#include "profile/profile.h"
#include "store/store.h"
#include "tests/test.h"

enum { N = 200, SERIES = 5, NODES = 7 };

static void entries_are_sorted_by_series_and_node(void **state)
{
	struct window_entry e[N];
	unsigned int seed = 1;

	for (uint32_t i = 0; i < N; i++)
		e[i] = (struct window_entry){ (uint32_t)rand_r(&seed) % SERIES,
					      (uint32_t)rand_r(&seed) % NODES, i };
	window_sort(e, N);
	for (size_t i = 1; i < N; i++)
		assert_true(e[i - 1].series < e[i].series ||
			    (e[i - 1].series == e[i].series && e[i - 1].node <= e[i].node));
}

static void rows_are_the_sums_of_their_node(void **state)
{
	_cleanup_(profile_freep) struct profile *p =
		fixture_profile("a 1\na;b 2\na;c 3\na;d 4\na;e 5\n");
	const struct window_entry e[] = {
		{ 0, 3, 0 }, { 0, 3, 1 }, { 0, 5, 2 }, { 0, 9, 3 }, { 0, 9, 4 }
	};
	uint32_t nodes[5];
	int64_t values[10];
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = 2 };

	window_fill(&rows, p, e, 5);
	assert_int_equal(rows.n, 3);
	assert_memory_equal(nodes, ((uint32_t[]){ 3, 5, 9 }), 3 * sizeof(*nodes));
	assert_memory_equal(values, ((int64_t[]){ 3, 30000000, 3, 30000000, 9, 90000000 }),
			    6 * sizeof(*values));
	assert_int_equal(rows.totals[0], 15);
	assert_int_equal(rows.totals[1], 150000000);
}

/* Builds a profile with a sample for each pair of values; a label keeps them apart. */
static struct profile *profile_of(int64_t (*values)[2], size_t n)
{
	struct profile *p = fixture_profile("a 1\n");

	for (size_t i = 0; i < n; i++) {
		struct profile_label label = { .num = (int64_t)i + 1 };
		const struct profile_sample s = { .values = values[i],
						  .labels = &label,
						  .n_labels = 1 };

		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	return p;
}

static void sums_saturate_and_zeros_are_omitted(void **state)
{
	int64_t added[][2] = { { INT64_MAX, 1 }, { INT64_MAX, 2 }, { 0, 0 } };
	_cleanup_(profile_freep) struct profile *p = profile_of(added, 3);
	const struct window_entry e[] = { { 0, 1, 1 }, { 0, 1, 2 }, { 0, 2, 3 } };
	uint32_t nodes[3];
	int64_t values[6];
	struct window_rows rows = { .nodes = nodes, .values = values, .n_types = 2 };

	assert_int_equal(profile_n_samples(p), 4);
	window_fill(&rows, p, e, 3);
	assert_int_equal(rows.n, 1);
	assert_int_equal(values[0], INT64_MAX);
	assert_int_equal(values[1], 3);
	assert_int_equal(rows.totals[0], INT64_MAX);
}

static void a_head_is_read_as_written_and_never_beyond_its_end(void **state)
{
	const struct window_rows rows = { .n_types = 3, .totals = { 7, -8, INT64_MIN } };
	const struct profile_meta meta = { .duration_ns = INT64_MAX, .period = 10000000 };
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct window_head head;

	window_put_head(&rows, &meta, &out);
	assert_int_equal(buf_error(&out), 0);
	for (uint32_t type = 0; type < 3; type++) {
		assert_int_equal(window_read_head(out.data, out.len, type, &head), 0);
		assert_true(head.duration_ns == INT64_MAX && head.period == 10000000);
		assert_true(head.total == rows.totals[type]);
	}
	assert_int_equal(window_read_head(out.data, out.len, 3, &head), -EBADMSG);
	for (size_t len = 0; len < out.len; len++) {
		/* memory of its own, so that ASan sees its end */
		_cleanup_(freep) uint8_t *shorter = malloc(len + 1);

		memcpy(shorter, out.data, len);
		assert_int_equal(window_read_head(shorter, len, 2, &head), -EBADMSG);
	}
}

static void the_key_depends_on_everything_that_identifies_a_profile(void **state)
{
	static const struct store_label one[] = { { "ab", "c" } }, other[] = { { "a", "bc" } };
	const struct store_profile base = {
		.id = "id", .name = "cpu", .id_time_ns = 5, .labels = one, .n_labels = 1
	};
	struct store_profile p[] = { base, base, base, base, base };
	uint8_t keys[6][WINDOW_KEY_LEN];

	p[0].id = "i";
	p[1].name = "dcpu";
	p[2].id_time_ns = 6;
	p[3].labels = other;
	p[4].n_labels = 0;
	window_profile_key(&base, keys[5]);
	for (size_t i = 0; i < 5; i++) {
		window_profile_key(&p[i], keys[i]);
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(keys[i], keys[k], WINDOW_KEY_LEN);
		assert_memory_not_equal(keys[i], keys[5], WINDOW_KEY_LEN);
	}
	window_profile_key(&base, keys[0]);
	assert_memory_equal(keys[0], keys[5], WINDOW_KEY_LEN);
	assert_true(window_id_hash("id") != window_id_hash("i"));
}

static void keys_of_one_second_are_next_to_each_other(void **state)
{
	const int64_t second = 1000000000,
		      times[] = { -5,       0, second, 2 * second - 1, 256 * second, 65536 * second,
				  INT64_MAX };
	uint8_t hash[WINDOW_KEY_LEN], keys[8][WINDOW_KEY_LEN] = { 0 };
	char hex[WINDOW_TIME_HEX_LEN];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct store_profile p = { .id = "id", .name = "cpu", .id_time_ns = times[i] };

		window_profile_key(&p, hash);
		window_profile_time_key(&p, hash, keys[i]);
		assert_memory_equal(keys[i] + 4, hash, WINDOW_KEY_LEN - 4);
		assert_true(i == 0 || memcmp(keys[i - 1], keys[i], 4) <= 0);
	}
	assert_memory_equal(keys[0], "\0\0\0\0", 4);
	assert_memory_equal(keys[3], "\0\0\0\1", 4);
	assert_memory_equal(keys[4], "\0\0\1\0", 4);
	assert_memory_equal(keys[6], "\xff\xff\xff\xff", 4);
	window_time_hex(65536 * second, hex);
	assert_string_equal(hex, "00010000");
}

static void the_content_id_depends_on_stacks_and_values(void **state)
{
	static const char *const texts[] = { "a;b 1\n", "a;b 2\n", "a;c 1\n", "b;a 1\n",
					     "a;b 1\na 1\n" };
	enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
	char ids[TEXTS][WINDOW_CONTENT_ID_LEN], again[WINDOW_CONTENT_ID_LEN];

	for (size_t i = 0; i < TEXTS; i++) {
		_cleanup_(profile_freep) struct profile *p = fixture_profile(texts[i]);
		_cleanup_(profile_freep) struct profile *q = fixture_profile(texts[i]);

		window_content_id(p, ids[i]);
		window_content_id(q, again);
		assert_string_equal(again, ids[i]);
		assert_int_equal(strlen(ids[i]), WINDOW_CONTENT_ID_LEN - 1);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
	}
}

TEST_GROUP(test_window, TEST(entries_are_sorted_by_series_and_node),
	   TEST(rows_are_the_sums_of_their_node), TEST(sums_saturate_and_zeros_are_omitted),
	   TEST(a_head_is_read_as_written_and_never_beyond_its_end),
	   TEST(the_key_depends_on_everything_that_identifies_a_profile),
	   TEST(keys_of_one_second_are_next_to_each_other),
	   TEST(the_content_id_depends_on_stacks_and_values))
