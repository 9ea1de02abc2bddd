/* SPDX-License-Identifier: Apache-2.0 */
int test_entries(void);
int test_top(void);
int test_calls(void);
int test_change(void);
int test_function_find(void);
int test_function_lines(void);
int test_idle(void);

int main(void)
{
	return test_entries() + test_top() + test_calls() + test_change() + test_function_find() +
	       test_function_lines() + test_idle();
}
