/* SPDX-License-Identifier: Apache-2.0 */
int test_doctor(void);

int main(void)
{
	return test_doctor();
}
