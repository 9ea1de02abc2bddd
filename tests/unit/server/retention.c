/* SPDX-License-Identifier: Apache-2.0 */
#include "server/retention.h"

#include "base/clock.h"
#include "store/store.h"
#include "tests/test.h"

#define HOUR (3600ULL * CLOCK_SECOND_NS)
#define DAY  STORE_DAY_NS

static void days_expire_one_after_the_other(void **state)
{
	struct retention r = { 0 };

	assert_int_equal(retention_oldest(&r, 10 * DAY, 10, 1), 10 * DAY);
	assert_int_equal(retention_oldest(&r, 11 * DAY + 5, 10, 2), 11 * DAY + 5);
	assert_int_equal(retention_oldest(&r, 12 * DAY - 1, 10, 3), 12 * DAY - 1);
	assert_int_equal(retention_oldest(&r, -DAY, 10, 4), -DAY);
	assert_false(r.is_delayed);
}

static void a_leap_of_time_drops_one_day_per_hour(void **state)
{
	const int64_t leap = 400 * DAY;
	struct retention r = { 0 };

	assert_int_equal(retention_oldest(&r, leap, 10, 7), 10 * DAY);
	assert_true(r.is_delayed);
	assert_int_equal(retention_oldest(&r, leap, 10, 6 + HOUR), 10 * DAY);
	assert_int_equal(retention_oldest(&r, leap, 10, 7 + HOUR), 11 * DAY);
	assert_int_equal(retention_oldest(&r, leap, 11, 6 + 2 * HOUR), 11 * DAY);
	/* after hours without a round there is still one day per round */
	assert_int_equal(retention_oldest(&r, leap, 20, 7 + 9 * HOUR), 21 * DAY);
	assert_int_equal(retention_oldest(&r, leap, 21, 8 + 9 * HOUR), 21 * DAY);
}

static void a_time_that_is_set_right_again_ends_the_delay(void **state)
{
	struct retention r = { 0 };

	assert_int_equal(retention_oldest(&r, 400 * DAY, 10, 7), 10 * DAY);
	assert_int_equal(retention_oldest(&r, 9 * DAY, 10, 8), 9 * DAY);
	assert_false(r.is_delayed);
	assert_int_equal(retention_oldest(&r, 400 * DAY, 10, 9 + HOUR), 10 * DAY);
	assert_int_equal(retention_oldest(&r, 400 * DAY, 10, 8 + 2 * HOUR), 10 * DAY);
	assert_int_equal(retention_oldest(&r, 400 * DAY, 10, 9 + 2 * HOUR), 11 * DAY);
}

TEST_GROUP(test_retention, TEST(days_expire_one_after_the_other),
	   TEST(a_leap_of_time_drops_one_day_per_hour),
	   TEST(a_time_that_is_set_right_again_ends_the_delay))
