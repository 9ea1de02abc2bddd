/* SPDX-License-Identifier: Apache-2.0 */
int test_args(void);
int test_top_rows(void);
int test_url(void);

int main(void)
{
	return test_args() + test_top_rows() + test_url();
}
