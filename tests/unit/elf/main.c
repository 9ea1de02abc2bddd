/* SPDX-License-Identifier: Apache-2.0 */
int test_cfi_program(void);
int test_debuglink(void);
int test_eh_frame(void);
int test_function_extents(void);
int test_gomodule(void);
int test_gopclntab(void);
int test_image(void);
int test_info_table(void);
int test_minidebug(void);
int test_note(void);
int test_plt(void);
int test_probe_insn(void);
int test_program_main(void);
int test_symbol_candidates(void);
int test_symtab(void);
int test_thread_start(void);
int test_x86_insn(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_cfi_program();
	n_failed += test_debuglink();
	n_failed += test_eh_frame();
	n_failed += test_function_extents();
	n_failed += test_gomodule();
	n_failed += test_gopclntab();
	n_failed += test_image();
	n_failed += test_info_table();
	n_failed += test_minidebug();
	n_failed += test_note();
	n_failed += test_plt();
	n_failed += test_probe_insn();
	n_failed += test_program_main();
	n_failed += test_symbol_candidates();
	n_failed += test_symtab();
	n_failed += test_thread_start();
	n_failed += test_x86_insn();
	return n_failed;
}
