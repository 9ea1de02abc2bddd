/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "roles/role.h"

int test_fetch_message(void);
int test_fetch_all(void);
int test_fetcher(void);
int test_pem(void);
int test_secret_file(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &fixture_fetch_role };

	role_main(argc, argv, roles, 1);
	return test_fetch_message() + test_fetch_all() + test_fetcher() + test_pem() +
	       test_secret_file();
}
