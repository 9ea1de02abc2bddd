/* SPDX-License-Identifier: Apache-2.0 */
int test_seqtab(void);
int test_profile(void);
int test_merge(void);
int test_frame_name(void);
int test_tree(void);
int test_delta(void);

int main(void)
{
	return test_seqtab() + test_profile() + test_merge() + test_frame_name() + test_tree() +
	       test_delta();
}
