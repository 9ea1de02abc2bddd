/* SPDX-License-Identifier: Apache-2.0 */
int test_capture(void);
int test_core(void);

int main(void)
{
	return test_capture() + test_core();
}
