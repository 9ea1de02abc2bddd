/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/role.h"
#include "symbol/worker.h"
#include "tests/unit/fetch/fixture.h"

int test_allocators(void);
int test_cache_dir(void);
int test_debugfile(void);
int test_debuginfod(void);
int test_demangle(void);
int test_demangle_haskell(void);
int test_file(void);
int test_file_set(void);
int test_jit_files(void);
int test_jit_places(void);
int test_jitdump(void);
int test_kallsyms(void);
int test_kernel_symbols(void);
int test_perfmap(void);
int test_protocol(void);
int test_symbolizer(void);
int test_table_cache(void);
int test_worker(void);
int test_worker_files(void);
int test_worker_main(void);
int test_worker_resolve(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &symbolizer_role, &fixture_fetch_role };
	int n_failed = 0;

	role_main(argc, argv, roles, 2);
	n_failed += test_allocators();
	n_failed += test_cache_dir();
	n_failed += test_debugfile();
	n_failed += test_debuginfod();
	n_failed += test_demangle();
	n_failed += test_demangle_haskell();
	n_failed += test_file();
	n_failed += test_file_set();
	n_failed += test_jit_files();
	n_failed += test_jit_places();
	n_failed += test_jitdump();
	n_failed += test_kallsyms();
	n_failed += test_kernel_symbols();
	n_failed += test_perfmap();
	n_failed += test_protocol();
	n_failed += test_symbolizer();
	n_failed += test_table_cache();
	n_failed += test_worker();
	n_failed += test_worker_files();
	n_failed += test_worker_main();
	n_failed += test_worker_resolve();
	return n_failed;
}
