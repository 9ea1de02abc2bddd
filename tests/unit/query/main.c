/* SPDX-License-Identifier: Apache-2.0 */
int test_cut(void);
int test_selector(void);
int test_flame(void);
int test_stored(void);

int main(void)
{
	return test_cut() + test_selector() + test_flame() + test_stored();
}
