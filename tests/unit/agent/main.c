/* SPDX-License-Identifier: Apache-2.0 */
int test_config(void);
int test_memory_plan(void);
int test_metrics(void);
int test_privileges(void);
int test_report(void);

int main(void)
{
	return test_config() + test_memory_plan() + test_metrics() + test_privileges() +
	       test_report();
}
