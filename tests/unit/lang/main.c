/* SPDX-License-Identifier: Apache-2.0 */
int test_jvm(void);
int test_memo(void);
int test_python_code(void);
int test_python_lines(void);
int test_python_offsets(void);
int test_v8(void);
int test_v8_deopt(void);
int test_v8_wasm(void);
int test_readers(void);
int test_weave(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_jvm();
	n_failed += test_memo();
	n_failed += test_python_code();
	n_failed += test_python_lines();
	n_failed += test_python_offsets();
	n_failed += test_v8();
	n_failed += test_v8_deopt();
	n_failed += test_v8_wasm();
	n_failed += test_readers();
	n_failed += test_weave();
	return n_failed;
}
