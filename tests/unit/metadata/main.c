/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/role.h"
#include "tests/unit/fetch/fixture.h"

int test_cgroup(void);
int test_container_files(void);
int test_containers(void);
int test_kubelet(void);
int test_labeler(void);
int test_metadata_labels(void);
int test_process_info(void);
int test_rules(void);
int test_select_rules(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &fixture_fetch_role };

	role_main(argc, argv, roles, 1);
	return test_cgroup() + test_container_files() + test_containers() + test_kubelet() +
	       test_labeler() + test_metadata_labels() + test_process_info() + test_rules() +
	       test_select_rules();
}
