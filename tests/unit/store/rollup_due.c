/* SPDX-License-Identifier: Apache-2.0 */
/* The set of slots without a rollup, compared with a list of what was added. */
#include "store/sqlite/rollup_due.h"

#include <stdlib.h>

#include "tests/test.h"

#define MINUTE 60000000000LL

enum { N_SERIES = 20, N_SLOTS = 24, ROUNDS = 200 };

static size_t take(struct rollup_due *due, int64_t before_ns, size_t limit)
{
	struct rollup_slots out = { 0 };
	size_t n;

	assert_int_equal(rollup_due_take(due, before_ns, limit, &out), 0);
	n = out.len;
	rollup_slots_fini(&out);
	return n;
}

static void a_slot_is_taken_once_it_is_quiet_and_over(void **state)
{
	struct rollup_due due;

	rollup_due_init(&due);
	rollup_due_add(&due, 7, 125 * MINUTE);
	rollup_due_add(&due, 7, 126 * MINUTE);
	assert_int_equal(take(&due, INT64_MAX, 100), 0); /* new since the last search */
	assert_int_equal(take(&due, 130 * MINUTE - 1, 100), 0);
	assert_int_equal(take(&due, 130 * MINUTE, 100), 1);
	rollup_due_add(&due, 7, 127 * MINUTE);
	assert_int_equal(take(&due, INT64_MAX, 100), 0);
	assert_int_equal(take(&due, INT64_MAX, 1), 1);
	/* two hours without a pack, which is due an hour later */
	assert_int_equal(take(&due, 300 * MINUTE - 1, 100), 1);
	assert_int_equal(take(&due, 300 * MINUTE - 1, 100), 0);
	assert_int_equal(take(&due, 300 * MINUTE, 100), 1);
	assert_int_equal(take(&due, INT64_MAX, 100), 0);
	rollup_due_fini(&due);
}

/* Additions at random and in rounds: each slot comes out after a round without it, and once. */
static void slots_come_out_as_they_were_added(void **state)
{
	int added[N_SERIES][N_SLOTS];
	unsigned int seed = 1;
	struct rollup_due due;

	rollup_due_init(&due);
	for (int i = 0; i < N_SERIES * N_SLOTS; i++)
		added[i / N_SLOTS][i % N_SLOTS] = -1;
	for (int round = 0; round < ROUNDS; round++) {
		struct rollup_slots out = { 0 };
		size_t want = 0;

		for (int i = rand_r(&seed) % 60; i > 0; i--) {
			int series = rand_r(&seed) % N_SERIES, slot = rand_r(&seed) % N_SLOTS;

			rollup_due_add_slot(&due, (uint32_t)series, 0, slot * 10 * MINUTE);
			added[series][slot] = round;
		}
		for (int i = 0; i < N_SERIES * N_SLOTS; i++)
			want += added[i / N_SLOTS][i % N_SLOTS] >= 0 &&
				added[i / N_SLOTS][i % N_SLOTS] < round;
		assert_int_equal(rollup_due_take(&due, INT64_MAX, 10000, &out), 0);
		assert_int_equal(out.len, want);
		for (size_t i = 0; i < out.len; i++) {
			int *at = &added[out.data[i].series][out.data[i].start / (10 * MINUTE)];

			assert_in_range(*at, 0, round - 1);
			*at = -1;
		}
		rollup_slots_fini(&out);
	}
	rollup_due_fini(&due);
}

static void a_full_set_is_searched_for_when_it_has_room_again(void **state)
{
	struct rollup_due due;
	uint32_t n = 0;

	rollup_due_init(&due);
	assert_true(rollup_due_begin_search(&due)); /* of a day that was just opened */
	assert_false(rollup_due_begin_search(&due));
	while (!due.incomplete)
		rollup_due_add_slot(&due, n++, 0, 0);
	assert_false(rollup_due_begin_search(&due));
	take(&due, INT64_MAX, 0);
	assert_int_equal(take(&due, INT64_MAX, n), n - 1);
	assert_true(rollup_due_begin_search(&due));
	rollup_due_forget(&due);
	assert_true(rollup_due_begin_search(&due));
	rollup_due_fini(&due);
}

TEST_GROUP(test_rollup_due, TEST(a_slot_is_taken_once_it_is_quiet_and_over),
	   TEST(slots_come_out_as_they_were_added),
	   TEST(a_full_set_is_searched_for_when_it_has_room_again))
