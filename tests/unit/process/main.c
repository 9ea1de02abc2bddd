/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

int test_executables(void);
int test_file_table(void);
int test_jit_source(void);
int test_jit_symbols(void);
int test_mapping_set(void);
int test_process_table(void);
int test_program_selection(void);
int test_sideband(void);
int test_sideband_event(void);
int test_table_maker(void);

int main(int argc, char **argv)
{
	int n_failed = 0;

	reader_main(argc, argv);
	n_failed += test_executables();
	n_failed += test_file_table();
	n_failed += test_jit_source();
	n_failed += test_jit_symbols();
	n_failed += test_mapping_set();
	n_failed += test_process_table();
	n_failed += test_program_selection();
	n_failed += test_sideband();
	n_failed += test_sideband_event();
	n_failed += test_table_maker();
	return n_failed;
}
