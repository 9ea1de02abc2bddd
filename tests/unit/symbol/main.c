/* SPDX-License-Identifier: Apache-2.0 */
int test_demangle(void);

int main(void)
{
	return test_demangle();
}
