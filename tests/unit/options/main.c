/* SPDX-License-Identifier: Apache-2.0 */
int test_arguments(void);
int test_completion(void);
int test_config_file(void);
int test_man(void);
int test_option(void);
int test_seam(void);
int test_value(void);

int main(void)
{
	return test_arguments() + test_completion() + test_config_file() + test_man() +
	       test_option() + test_seam() + test_value();
}
