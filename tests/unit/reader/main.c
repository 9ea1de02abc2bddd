/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

int test_allocator_message(void);
int test_facts(void);
int test_fair_queue(void);
int test_jit_job(void);
int test_jit_message(void);
int test_lang_client(void);
int test_lang_message(void);
int test_place(void);
int test_reader_profile(void);
int test_side_files(void);
int test_table_client(void);
int test_table_message(void);
int test_tasks_message(void);

int main(int argc, char **argv)
{
	reader_main(argc, argv);
	return test_allocator_message() + test_facts() + test_fair_queue() + test_jit_job() +
	       test_jit_message() + test_lang_client() + test_lang_message() + test_place() +
	       test_reader_profile() + test_side_files() + test_table_client() +
	       test_table_message() + test_tasks_message();
}
