/* SPDX-License-Identifier: Apache-2.0 */
int test_file_table(void);
int test_mapping_set(void);
int test_process_table(void);
int test_sideband_event(void);

int main(void)
{
	return test_file_table() + test_mapping_set() + test_process_table() +
	       test_sideband_event();
}
