/* SPDX-License-Identifier: Apache-2.0 */
int test_conformance(void);

int main(void)
{
	return test_conformance();
}
