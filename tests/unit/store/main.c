/* SPDX-License-Identifier: Apache-2.0 */
int test_any(void);
int test_block(void);
int test_matcher(void);
int test_local(void);
int test_sums(void);
int test_times(void);

int main(void)
{
	return test_times() + test_block() + test_matcher() + test_any() + test_local() +
	       test_sums();
}
