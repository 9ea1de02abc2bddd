/* SPDX-License-Identifier: Apache-2.0 */
int test_selector(void);
int test_flame(void);
int test_stored(void);

int main(void)
{
	return test_selector() + test_flame() + test_stored();
}
