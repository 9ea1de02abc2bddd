/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/role.h"

extern const struct role pool_test_role, pool_test_broken_role;

int test_message(void);
int test_payers(void);
int test_pool(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &pool_test_role, &pool_test_broken_role };

	role_main(argc, argv, roles, 2);
	return test_message() + test_payers() + test_pool();
}
