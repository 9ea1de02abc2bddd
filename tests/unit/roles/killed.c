/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/killed.h"

#include <signal.h>
#include <unistd.h>

#include "tests/test.h"

/* Starts a process that ends when it is killed. It stands for one that SIGKILL does not end. */
static pid_t start_waiting(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void those_that_do_not_die_are_counted_for_their_owner(void **state)
{
	const uint64_t owners[] = { 5, 5, 6, 0 };
	struct killed k = { 0 };

	for (size_t i = 0; i < 4; i++) {
		const struct killed_child c = { start_waiting(), owners[i], 1, true };

		assert_int_equal(vec_push(&k, c), 0);
	}
	assert_int_equal(killed_reap(&k, 2000000000), 4);
	assert_int_equal(killed_of(&k, 5), 2);
	assert_int_equal(killed_of(&k, 6), 1);
	assert_int_equal(killed_of(&k, 7), 0);
	assert_int_equal(killed_of(&k, 0), 3);
	for (size_t i = 0; i < k.len; i++)
		kill(k.data[i].pid, SIGKILL);
	while (killed_reap(&k, 2000000000))
		usleep(1000);
	assert_int_equal(killed_of(&k, 5), 0);
	vec_fini(&k);
}

TEST_GROUP(test_killed, TEST(those_that_do_not_die_are_counted_for_their_owner))
