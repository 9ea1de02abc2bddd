/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/role.h"

extern const struct role pool_test_role, pool_test_broken_role;

int test_message(void);
int test_payers(void);
int test_pool(void);
int test_spawn(void);

void spawn_test_main(char **argv);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &pool_test_role, &pool_test_broken_role };

	spawn_test_main(argv);
	role_main(argc, argv, roles, 2);
	return test_message() + test_payers() + test_pool() + test_spawn();
}
