/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hot.h"

#include <stdlib.h>
#include <string.h>

#include "../codec/fixture.h"
#include "base/cleanup.h"
#include "export/export.h"
#include "export/window.h"
#include "profile/profile.h"
#include "tests/test.h"

#define SECOND 1000000000LL

static const struct export_label shop[] = { { "service_name", "shop" } };

/* A profile of one function with samples of @period ns. */
static struct profile *new_profile(const char *function, int64_t samples, int64_t period)
{
	struct profile_sample s = { .values = &samples };
	struct profile *p;
	uint32_t location;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	profile_meta(p)->period = period;
	location = fixture_location(p, PROFILE_NONE, 1, function);
	assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static struct export_window *new_window(void)
{
	struct export_window *w;

	assert_int_equal(export_window_new(&w, 0, 10 * SECOND), 0);
	return w;
}

static void add(struct export_window *w, const char *function, int64_t samples, int64_t period)
{
	assert_int_equal(export_window_add(w, new_profile(function, samples, period), shop, 1), 0);
}

static void assert_line(const struct export_window *w, const char *want)
{
	char line[256];

	assert_int_equal(hot_line(w, 2, line, sizeof(line)), 0);
	assert_string_equal(line, want);
}

static void the_hottest_functions_of_all_series_are_named(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();

	add(w, "warm", 30, SECOND / 10);
	add(w, "hot", 10, SECOND / 2);
	add(w, "cold", 1, SECOND / 10);
	add(w, "warm", 10, SECOND / 10);
	add(w, "cool", 2, SECOND / 10);
	assert_line(w, "0.9 of 2 CPUs busy: 54 % hot (shop), 43 % warm (shop), 2 % cool (shop)");
}

static void nothing_runs_in_an_empty_window(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();

	assert_line(w, "");
	add(w, "f", 0, SECOND);
	add(w, "g", 5, 0);
	assert_line(w, "");
}

static void hostile_counts_and_periods_do_not_overflow(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();

	add(w, "f", INT64_MAX, INT64_MAX);
	add(w, "g", INT64_MAX / 2, 3);
	assert_line(w, "922337203.7 of 2 CPUs busy: 100 % f (shop), 100 % g (shop)");
	add(w, "h", INT64_MAX, INT64_MIN);
	/* A sum that did not fit stays at its limit. */
	assert_line(w, "922337203.7 of 2 CPUs busy: 100 % f (shop), 100 % g (shop)");
}

static void a_line_is_truncated_to_its_room(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = new_window();
	char line[20], *name = malloc(1001);

	assert_non_null(name);
	memset(name, 'n', 1000);
	name[1000] = '\0';
	add(w, name, 10, SECOND);
	assert_int_equal(hot_line(w, 1, line, sizeof(line)), 0);
	assert_string_equal(line, "1.0 of 1 CPUs busy:");
	name[60] = '\0';
	{
		char whole[256], want[256];

		snprintf(want, sizeof(want), "1.0 of 1 CPUs busy: 100 %% %s (shop)", name);
		assert_int_equal(hot_line(w, 1, whole, sizeof(whole)), 0);
		assert_string_equal(whole, want);
	}
	free(name);
}

TEST_GROUP(test_hot, TEST(the_hottest_functions_of_all_series_are_named),
	   TEST(nothing_runs_in_an_empty_window), TEST(hostile_counts_and_periods_do_not_overflow),
	   TEST(a_line_is_truncated_to_its_room))
