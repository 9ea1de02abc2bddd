/* SPDX-License-Identifier: Apache-2.0 */
int test_flame_graph(void);
int test_flame_tree(void);
int test_merged_stacks(void);
int test_node_sums(void);
int test_prune(void);
int test_stack_dict(void);

int main(void)
{
	return test_flame_graph() + test_flame_tree() + test_merged_stacks() + test_node_sums() +
	       test_prune() + test_stack_dict();
}
