/* SPDX-License-Identifier: Apache-2.0 */
int test_any(void);

int main(void)
{
	return test_any();
}
