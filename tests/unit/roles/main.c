/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/role.h"

extern const struct role pool_test_role, pool_test_broken_role, role_test_role;
extern const struct role sandbox_test_reader, sandbox_test_opener, sandbox_test_exporter;
extern const struct role launcher_test_role;

int test_budget(void);
int test_killed(void);
int test_launcher(void);
int test_message(void);
int test_payers(void);
int test_pool(void);
int test_registry(void);
int test_role(void);
int test_sandbox(void);
int test_spawn(void);

void spawn_test_main(char **argv);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &pool_test_role,      &pool_test_broken_role,
					     &role_test_role,      &sandbox_test_reader,
					     &sandbox_test_opener, &sandbox_test_exporter,
					     &launcher_test_role };

	spawn_test_main(argv);
	role_main(argc, argv, roles, sizeof(roles) / sizeof(*roles));
	return test_budget() + test_killed() + test_launcher() + test_message() + test_payers() +
	       test_pool() + test_registry() + test_role() + test_sandbox() + test_spawn();
}
