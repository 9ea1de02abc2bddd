/* SPDX-License-Identifier: Apache-2.0 */
int test_tasks(void);

int main(void)
{
	return test_tasks();
}
