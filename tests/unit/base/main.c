/* SPDX-License-Identifier: Apache-2.0 */
int test_buf(void);
int test_err(void);
int test_index(void);
int test_json(void);
int test_sigbus(void);
int test_strtab(void);
int test_vec(void);

int main(void)
{
	return test_buf() + test_err() + test_index() + test_json() + test_sigbus() +
	       test_strtab() + test_vec();
}
