/* SPDX-License-Identifier: Apache-2.0 */
int test_export(void);
int test_queries(void);
int test_selector(void);
int test_value_heat_map(void);

int main(void)
{
	return test_export() + test_queries() + test_selector() + test_value_heat_map();
}
