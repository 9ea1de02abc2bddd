/* SPDX-License-Identifier: Apache-2.0 */
int test_capture(void);
int test_core(void);
int test_core_write(void);
int test_process_image(void);
int test_replay(void);
int test_stack_trace(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_capture();
	n_failed += test_core();
	n_failed += test_core_write();
	n_failed += test_process_image();
	n_failed += test_replay();
	n_failed += test_stack_trace();
	return n_failed;
}
