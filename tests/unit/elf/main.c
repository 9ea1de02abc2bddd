/* SPDX-License-Identifier: Apache-2.0 */
int test_gopclntab(void);
int test_image(void);
int test_note(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_gopclntab();
	n_failed += test_image();
	n_failed += test_note();
	return n_failed;
}
