/* SPDX-License-Identifier: Apache-2.0 */
int test_arena(void);
int test_cfi(void);
#ifdef __aarch64__
int test_cfi_arm64(void);
int test_code_arm64(void);
int test_go_arm64(void);
#endif
int test_fcontext(void);
int test_file_rows(void);
int test_flat_table(void);
int test_gaps(void);
int test_go(void);
int test_haskell(void);
int test_no_return(void);
int test_pages(void);
int test_rows(void);
int test_rules(void);
int test_special_code(void);
int test_sweep(void);
int test_sweep_code(void);
int test_sweep_entries(void);
int test_sweep_jumps(void);
int test_sweep_lookahead(void);
int test_sweep_pointers(void);
int test_sweep_step(void);
int test_tables(void);
int test_walk(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_arena();
	n_failed += test_cfi();
#ifdef __aarch64__
	n_failed += test_cfi_arm64();
	n_failed += test_code_arm64();
	n_failed += test_go_arm64();
#endif
	n_failed += test_fcontext();
	n_failed += test_file_rows();
	n_failed += test_flat_table();
	n_failed += test_gaps();
	n_failed += test_go();
	n_failed += test_haskell();
	n_failed += test_no_return();
	n_failed += test_pages();
	n_failed += test_rows();
	n_failed += test_rules();
	n_failed += test_special_code();
	n_failed += test_sweep();
	n_failed += test_sweep_code();
	n_failed += test_sweep_entries();
	n_failed += test_sweep_jumps();
	n_failed += test_sweep_lookahead();
	n_failed += test_sweep_pointers();
	n_failed += test_sweep_step();
	n_failed += test_tables();
	n_failed += test_walk();
	return n_failed;
}
