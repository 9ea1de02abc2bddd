/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"
#include "roles/role.h"
#include "symbol/worker.h"

int test_address_cache(void);
int test_frame_symbols(void);
int test_losses(void);
int test_native_symbols(void);
int test_profile_builder(void);
int test_series_exporter(void);
int test_symbolize(void);
int test_symbolize_stats(void);
int test_symbolizer_thread(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &reader_role, &symbolizer_role };

	role_main(argc, argv, roles, 2);
	return test_address_cache() + test_frame_symbols() + test_losses() + test_native_symbols() +
	       test_profile_builder() + test_series_exporter() + test_symbolize() +
	       test_symbolize_stats() + test_symbolizer_thread();
}
