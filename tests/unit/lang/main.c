/* SPDX-License-Identifier: Apache-2.0 */
int test_find(void);
int test_jvm(void);
int test_jvm_attach(void);
int test_jvm_chunks(void);
int test_jvm_layout(void);
int test_jvm_scopes(void);
int test_jvm_structs(void);
int test_jvm_symbolize(void);
int test_lang(void);
int test_memo(void);
int test_php_detect(void);
int test_python_code(void);
int test_python_lines(void);
int test_python_offsets(void);
int test_readers(void);
int test_ruby_code(void);
int test_ruby_detect(void);
int test_ruby_values(void);
int test_v8(void);
int test_v8_blob(void);
int test_v8_classes(void);
int test_v8_deopt(void);
int test_v8_embedded(void);
int test_v8_function(void);
int test_v8_heap(void);
int test_v8_script(void);
int test_v8_strings(void);
int test_v8_wasm(void);
int test_weave(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_find();
	n_failed += test_jvm();
	n_failed += test_jvm_attach();
	n_failed += test_jvm_chunks();
	n_failed += test_jvm_layout();
	n_failed += test_jvm_scopes();
	n_failed += test_jvm_structs();
	n_failed += test_jvm_symbolize();
	n_failed += test_lang();
	n_failed += test_memo();
	n_failed += test_php_detect();
	n_failed += test_python_code();
	n_failed += test_python_lines();
	n_failed += test_python_offsets();
	n_failed += test_readers();
	n_failed += test_ruby_code();
	n_failed += test_ruby_detect();
	n_failed += test_ruby_values();
	n_failed += test_v8();
	n_failed += test_v8_blob();
	n_failed += test_v8_classes();
	n_failed += test_v8_deopt();
	n_failed += test_v8_embedded();
	n_failed += test_v8_function();
	n_failed += test_v8_heap();
	n_failed += test_v8_script();
	n_failed += test_v8_strings();
	n_failed += test_v8_wasm();
	n_failed += test_weave();
	return n_failed;
}
