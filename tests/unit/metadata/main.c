/* SPDX-License-Identifier: Apache-2.0 */
int test_cgroup(void);
int test_containers(void);
int test_labeler(void);
int test_rules(void);
int test_metadata_labels(void);

int main(void)
{
	return test_cgroup() + test_containers() + test_labeler() + test_rules() +
	       test_metadata_labels();
}
