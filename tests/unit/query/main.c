/* SPDX-License-Identifier: Apache-2.0 */
int test_selector(void);
int test_queries(void);

int main(void)
{
	return test_selector() + test_queries();
}
