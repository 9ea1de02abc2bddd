/* SPDX-License-Identifier: Apache-2.0 */
int test_binary(void);
int test_go_profile(void);
int test_llvm_profile(void);

int main(void)
{
	return test_binary() + test_go_profile() + test_llvm_profile();
}
