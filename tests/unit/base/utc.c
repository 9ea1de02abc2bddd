/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utc.h"

#include "base/clock.h"
#include "tests/test.h"

static void a_time_is_written_with_its_second(void **state)
{
	char text[UTC_TEXT_LEN];

	utc_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	utc_text(1795219199 * (int64_t)CLOCK_SECOND_NS + 999999999, text);
	assert_string_equal(text, "2026-11-20T23:59:59Z");
}

TEST_GROUP(test_utc, TEST(a_time_is_written_with_its_second))
