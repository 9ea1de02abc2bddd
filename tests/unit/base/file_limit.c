/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <sys/resource.h>

#include "tests/test.h"

static void raises_the_soft_limit_and_returns_the_former_one(void **state)
{
	struct rlimit start, low, old, now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &start), 0);
	low = (struct rlimit){ 64, start.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	file_limit_raise(&old);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(old.rlim_cur, 64);
	assert_int_equal(old.rlim_max, start.rlim_max);
	assert_int_equal(now.rlim_cur, start.rlim_max);
	assert_int_equal(now.rlim_max, start.rlim_max);
	file_limit_raise(NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &start), 0);
}

TEST_GROUP(test_file_limit, TEST(raises_the_soft_limit_and_returns_the_former_one))
