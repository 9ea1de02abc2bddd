/* SPDX-License-Identifier: Apache-2.0 */
int test_maps(void);

int main(void)
{
	return test_maps();
}
