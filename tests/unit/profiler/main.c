/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

int test_address_space(void);
int test_alloc_recording(void);
int test_allocs(void);
int test_context_keys(void);
int test_offcpu(void);
int test_parked(void);
int test_process_memory(void);
int test_record(void);
int test_record_decoder(void);
int test_resident(void);
int test_sample_counts(void);
int test_stack_parts(void);
int test_touch_map(void);
int test_waits(void);
int test_wakers(void);

int main(int argc, char **argv)
{
	reader_main(argc, argv);
	return test_address_space() + test_alloc_recording() + test_allocs() + test_context_keys() +
	       test_offcpu() + test_parked() + test_process_memory() + test_record() +
	       test_record_decoder() + test_resident() + test_sample_counts() + test_stack_parts() +
	       test_touch_map() + test_waits() + test_wakers();
}
