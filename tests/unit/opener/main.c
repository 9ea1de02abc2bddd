/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/opener.h"
#include "roles/role.h"

int test_memory(void);
int test_opener(void);
int test_process(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &opener_role };

	role_main(argc, argv, roles, 1);
	return test_memory() + test_opener() + test_process();
}
