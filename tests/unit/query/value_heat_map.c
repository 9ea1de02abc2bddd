/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat maps of a toy store, whose points the tests choose. Random ones are counted a second time,
 * one point after the other and without sorting.
 */
#include "query/value_heat_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/store.h"
#include "tests/test.h"

enum { POINTS_MAX = 400, SERIES = 5, STEP_MS = 1000 };

static const int64_t START_NS = 5000000000;

/* A store that has these points, in series that are named "a", "b", and so on. */
struct toy_store {
	struct store store;
	size_t n;
	struct store_point points[POINTS_MAX];
	unsigned int series[POINTS_MAX];
	size_t repeat; /* calls for each point */
	int fail_with;
};

static int emit(struct toy_store *t, unsigned int series, store_point_fn point, void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++)
		for (size_t k = 0; r == 0 && k < t->repeat && t->series[i] == series; k++)
			r = point(ctx, &t->points[i]);
	return r;
}

static int toy_points(struct store *s, const struct store_select *sel, store_series_fn series,
		      store_point_fn point, void *ctx, struct err *err)
{
	struct toy_store *t = (struct toy_store *)s;
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < SERIES; i++) {
		const char name[] = { (char)('a' + i), '\0' }, parity[] = { "eo"[i % 2], '\0' };
		const struct store_label labels[] = { { "name", name }, { "parity", parity } };

		r = series(ctx, labels, 2);
		if (r == 0)
			r = emit(t, i, point, ctx);
	}
	if (r == 0 && t->fail_with)
		r = err_set(err, t->fail_with, "the store failed");
	return r;
}

static const struct store_ops toy_ops = { .points = toy_points };

static void add(struct toy_store *t, unsigned int series, int64_t time_ms, int64_t value)
{
	assert_true(t->n < POINTS_MAX);
	t->store.ops = &toy_ops;
	t->repeat = 1;
	t->series[t->n] = series;
	t->points[t->n++] = (struct store_point){ START_NS + time_ms * 1000000, value };
}

static int build(struct value_heat_map *h, struct toy_store *t, const char *by, size_t limit,
		 struct err *err)
{
	const struct store_select sel = { .tenant = "a", .start_ns = START_NS };
	const char *const group_by[] = { by };
	const struct value_heat_map_options opt = {
		.step_ms = STEP_MS, .group_by = group_by, .n_group_by = by ? 1 : 0, .limit = limit
	};

	*h = (struct value_heat_map){ 0 };
	return value_heat_map_build(h, &t->store, &sel, &opt, err);
}

static void a_profile_counts_in_the_row_of_its_value(void **state)
{
	struct toy_store t = { 0 };
	struct value_heat_map h;

	/* Rows are 10 high, from 100 to 300. */
	add(&t, 0, 1, 100);
	add(&t, 0, 2, 109);
	add(&t, 0, 3, 110);
	add(&t, 0, 4, 299);
	add(&t, 0, 5, 300);
	assert_int_equal(build(&h, &t, NULL, 0, NULL), 0);
	assert_int_equal(h.least, 100);
	assert_int_equal(h.greatest, 300);
	assert_int_equal(h.len, 1);
	assert_int_equal(h.data[0].sum, 918);
	assert_int_equal(h.data[0].slots.len, 1);
	assert_int_equal(h.data[0].slots.data[0].counts[0], 2);
	assert_int_equal(h.data[0].slots.data[0].counts[1], 1);
	assert_int_equal(h.data[0].slots.data[0].counts[VALUE_HEAT_MAP_ROWS - 1], 2);
	assert_true(value_heat_map_row(&h, 0) == 100);
	assert_true(value_heat_map_row(&h, VALUE_HEAT_MAP_ROWS) == 300);
	value_heat_map_fini(&h);
}

static void equal_values_are_in_one_row(void **state)
{
	struct toy_store t = { 0 };
	struct value_heat_map h;

	add(&t, 0, 1, 7);
	add(&t, 0, 2, 7);
	assert_int_equal(build(&h, &t, NULL, 0, NULL), 0);
	assert_int_equal(h.data[0].slots.data[0].counts[0], 2);
	assert_true(value_heat_map_row(&h, 5) == 7);
	value_heat_map_fini(&h);
}

/* Values whose magnitudes add up to more are refused by the store (store_points()). */
static void the_greatest_range_of_values_does_not_overflow(void **state)
{
	struct toy_store t = { 0 };
	struct value_heat_map h;

	add(&t, 0, 1, -(1LL << 62));
	add(&t, 0, 1, (1LL << 61) - 1);
	add(&t, 0, 1, (1LL << 61) - 1);
	assert_int_equal(build(&h, &t, NULL, 0, NULL), 0);
	assert_int_equal(h.data[0].slots.data[0].counts[0], 1);
	assert_int_equal(h.data[0].slots.data[0].counts[VALUE_HEAT_MAP_ROWS - 1], 2);
	value_heat_map_fini(&h);
}

static void a_slot_is_named_by_the_end_of_its_step(void **state)
{
	static const int64_t times[] = { 5000, 6000, 6000, 7000 };
	static const int64_t after[] = { 0, 1, STEP_MS, STEP_MS + 1 };
	struct toy_store t = { 0 };
	struct value_heat_map h;
	size_t n = 0;

	for (size_t i = 0; i < 4; i++)
		add(&t, 0, after[i], 1);
	assert_int_equal(build(&h, &t, NULL, 0, NULL), 0);
	assert_int_equal(h.data[0].slots.len, 3);
	for (size_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < h.data[0].slots.data[i].counts[0]; k++)
			assert_int_equal(h.data[0].slots.data[i].time_ms, times[n++]);
	assert_int_equal(n, 4);
	value_heat_map_fini(&h);
}

static void series_are_grouped_and_the_greatest_is_first(void **state)
{
	struct toy_store t = { 0 };
	struct value_heat_map h;

	add(&t, 0, 1, 1);
	add(&t, 1, 1, 10);
	add(&t, 2, 1, 5);
	assert_int_equal(build(&h, &t, "parity", 0, NULL), 0);
	assert_int_equal(h.len, 2);
	assert_string_equal(groups_value(&h.groups, h.data[0].group, 0), "o");
	assert_int_equal(h.data[0].sum, 10);
	assert_int_equal(h.data[1].sum, 6);
	value_heat_map_fini(&h);
	assert_int_equal(build(&h, &t, "name", 2, NULL), 0);
	assert_int_equal(h.len, 2);
	assert_string_equal(groups_value(&h.groups, h.data[1].group, 0), "c");
	value_heat_map_fini(&h);
	/* Rows are those of all values, those of omitted series too. */
	assert_int_equal(h.least, 1);
}

static void without_points_there_is_no_series(void **state)
{
	struct toy_store t = { .store.ops = &toy_ops };
	struct value_heat_map h;

	assert_int_equal(build(&h, &t, NULL, 1, NULL), 0);
	assert_int_equal(h.len, 0);
	value_heat_map_fini(&h);
}

static void errors_of_the_store_and_of_the_step_are_returned(void **state)
{
	const struct store_select sel = { .tenant = "a" };
	const struct value_heat_map_options opt = { .step_ms = 0 };
	struct toy_store t = { 0 };
	struct value_heat_map h;
	struct err err = { 0 };

	add(&t, 0, 1, 1);
	t.fail_with = -EIO;
	assert_int_equal(build(&h, &t, NULL, 0, &err), -EIO);
	assert_string_equal(err.msg, "the store failed");
	value_heat_map_fini(&h);
	h = (struct value_heat_map){ 0 };
	err = (struct err){ 0 };
	assert_int_equal(value_heat_map_build(&h, &t.store, &sel, &opt, &err), -EINVAL);
	assert_string_equal(err.msg, "the step is less than 1 ms");
	value_heat_map_fini(&h);
}

static void the_number_of_profiles_is_limited(void **state)
{
	struct toy_store t = { 0 };
	struct value_heat_map h;
	struct err err = { 0 };

	add(&t, 0, 1, 1);
	t.repeat = VALUE_HEAT_MAP_MAX_POINTS;
	assert_int_equal(build(&h, &t, NULL, 0, NULL), 0);
	assert_int_equal(h.data[0].slots.data[0].counts[0], VALUE_HEAT_MAP_MAX_POINTS);
	value_heat_map_fini(&h);
	t.repeat++;
	assert_int_equal(build(&h, &t, NULL, 0, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "range has more than"));
	value_heat_map_fini(&h);
}

/* The number of profiles of a series in one cell, counted one by one. */
static uint32_t count(const struct toy_store *t, unsigned int series, int64_t time_ms, double from,
		      double to, bool last)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		int64_t ms = (t->points[i].time_ns + 999999) / 1000000;
		double v = (double)t->points[i].value;

		n += t->series[i] == series && ms > time_ms - STEP_MS && ms <= time_ms &&
		     v >= from && (v < to || last);
	}
	return n;
}

static void cells_equal_those_that_are_counted_one_by_one(void **state)
{
	static struct toy_store t;
	struct value_heat_map h;
	unsigned int seed = 7;
	uint32_t sum = 0;

	for (int i = 0; i < POINTS_MAX; i++)
		add(&t, (unsigned int)rand_r(&seed) % SERIES, rand_r(&seed) % 10000,
		    rand_r(&seed) % 1000 - 500);
	/* A whole number per row. */
	t.points[0].value = -500;
	t.points[1].value = 500;
	assert_int_equal(build(&h, &t, "name", 0, NULL), 0);
	assert_int_equal(h.len, SERIES);
	for (size_t i = 0; i < h.len; i++) {
		unsigned int series =
			(unsigned int)(groups_value(&h.groups, h.data[i].group, 0)[0] - 'a');

		for (size_t k = 0; k < h.data[i].slots.len; k++) {
			const struct value_heat_map_slot *slot = &h.data[i].slots.data[k];

			for (unsigned int row = 0; row < VALUE_HEAT_MAP_ROWS; row++) {
				assert_int_equal(slot->counts[row],
						 count(&t, series, slot->time_ms,
						       value_heat_map_row(&h, row),
						       value_heat_map_row(&h, row + 1),
						       row == VALUE_HEAT_MAP_ROWS - 1));
				sum += slot->counts[row];
			}
		}
	}
	assert_int_equal(sum, POINTS_MAX);
	value_heat_map_fini(&h);
}

TEST_GROUP(test_value_heat_map, TEST(a_profile_counts_in_the_row_of_its_value),
	   TEST(equal_values_are_in_one_row), TEST(the_greatest_range_of_values_does_not_overflow),
	   TEST(a_slot_is_named_by_the_end_of_its_step),
	   TEST(series_are_grouped_and_the_greatest_is_first),
	   TEST(without_points_there_is_no_series),
	   TEST(errors_of_the_store_and_of_the_step_are_returned),
	   TEST(the_number_of_profiles_is_limited),
	   TEST(cells_equal_those_that_are_counted_one_by_one))
