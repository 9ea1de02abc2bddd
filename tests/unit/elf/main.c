/* SPDX-License-Identifier: Apache-2.0 */
int test_image(void);

int main(void)
{
	return test_image();
}
