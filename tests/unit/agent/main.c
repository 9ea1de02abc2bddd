/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/opener.h"
#include "reader/reader.h"
#include "roles/role.h"
#include "symbol/worker.h"

int test_config(void);
int test_memory_plan(void);
int test_metrics(void);
int test_parts(void);
int test_privileges(void);
int test_report(void);
int test_selector(void);
int test_top_files(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &reader_role, &symbolizer_role, &opener_role };

	role_main(argc, argv, roles, sizeof(roles) / sizeof(*roles));
	return test_config() + test_memory_plan() + test_metrics() + test_parts() +
	       test_privileges() + test_report() + test_selector() + test_top_files();
}
