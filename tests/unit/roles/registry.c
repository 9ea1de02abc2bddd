/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/registry.h"

#include <signal.h>
#include <unistd.h>

#include "child.h"
#include "roles/spawn.h"
#include "tests/test.h"

static bool is_listed(pid_t pid)
{
	pid_t pids[ROLE_CHILDREN_MAX];
	size_t n = role_registry_pids(pids, ROLE_CHILDREN_MAX);

	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void a_child_is_listed_until_it_is_reaped(void **state)
{
	struct child c;
	int status;

	child_start(&c, "cameo-test-reader", false, true);
	assert_true(is_listed(c.pid));
	close(c.sock);
	while (!spawn_reap(c.pid, &status))
		usleep(1000);
	assert_false(is_listed(c.pid));
}

static void more_children_than_fit_are_ignored(void **state)
{
	pid_t pids[ROLE_CHILDREN_MAX + 1];
	size_t n = role_registry_pids(pids, ROLE_CHILDREN_MAX + 1);

	for (size_t i = n; i < ROLE_CHILDREN_MAX + 2; i++)
		role_registry_add((pid_t)(1 << 23) + (pid_t)i);
	assert_int_equal(role_registry_pids(pids, ROLE_CHILDREN_MAX + 1), ROLE_CHILDREN_MAX);
	assert_int_equal(role_registry_pids(pids, 1), 1);
	for (size_t i = n; i < ROLE_CHILDREN_MAX + 2; i++)
		role_registry_remove((pid_t)(1 << 23) + (pid_t)i);
	assert_int_equal(role_registry_pids(pids, ROLE_CHILDREN_MAX), n);
}

int test_registry(void);
int test_registry(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_is_listed_until_it_is_reaped),
		TEST(more_children_than_fit_are_ignored),
	};

	return TEST_RUN("registry", tests, NULL, NULL);
}
