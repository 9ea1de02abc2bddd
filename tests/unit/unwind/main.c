/* SPDX-License-Identifier: Apache-2.0 */
int test_arena(void);

int main(void)
{
	return test_arena();
}
