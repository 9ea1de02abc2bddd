/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

int test_file_table(void);
int test_jit_source(void);
int test_mapping_set(void);
int test_process_table(void);
int test_sideband_event(void);

int main(int argc, char **argv)
{
	reader_main(argc, argv);
	return test_file_table() + test_jit_source() + test_mapping_set() + test_process_table() +
	       test_sideband_event();
}
