/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/worker.h"

int test_cache_dir(void);
int test_debugfile(void);
int test_demangle(void);
int test_jit_table(void);
int test_jitdump(void);
int test_kallsyms(void);
int test_perfmap(void);
int test_protocol(void);
int test_symbol_cache(void);
int test_symbolizer(void);
int test_worker(void);

int main(int argc, char **argv)
{
	symbol_worker_main(argc, argv);
	return test_cache_dir() + test_debugfile() + test_demangle() + test_jit_table() +
	       test_jitdump() + test_kallsyms() + test_perfmap() + test_protocol() +
	       test_symbol_cache() + test_symbolizer() + test_worker();
}
