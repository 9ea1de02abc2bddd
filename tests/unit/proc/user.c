/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/user.h"

#include <unistd.h>

#include "tests/test.h"

static void subordinate_ids_are_one_user(void **state)
{
	(void)state;
	assert_int_equal(proc_user(0), 0);
	assert_int_equal(proc_user(99999), 99999);
	assert_int_equal(proc_user(100000), proc_user(165535));
	assert_int_not_equal(proc_user(165535), proc_user(165536));
}

static void a_process_belongs_to_its_user(void **state)
{
	(void)state;
	assert_int_equal(proc_user_of((uint32_t)getpid()), proc_user(getuid()));
	assert_true(proc_user_of(UINT32_MAX) == UINT64_MAX);
}

TEST_GROUP(test_user, TEST(subordinate_ids_are_one_user), TEST(a_process_belongs_to_its_user))
