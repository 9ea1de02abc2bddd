/* SPDX-License-Identifier: Apache-2.0 */
int test_gopclntab(void);
int test_image(void);

int main(void)
{
	return test_gopclntab() + test_image();
}
