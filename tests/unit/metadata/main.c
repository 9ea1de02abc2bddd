/* SPDX-License-Identifier: Apache-2.0 */
int test_cgroup(void);
int test_container_files(void);
int test_containers(void);
int test_kubelet(void);
int test_labeler(void);
int test_metadata_labels(void);
int test_process_info(void);
int test_rules(void);

int main(void)
{
	return test_cgroup() + test_container_files() + test_containers() + test_kubelet() +
	       test_labeler() + test_metadata_labels() + test_process_info() + test_rules();
}
