/* SPDX-License-Identifier: Apache-2.0 */
int test_html(void);

int main(void)
{
	return test_html();
}
