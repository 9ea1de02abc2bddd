/* SPDX-License-Identifier: Apache-2.0 */
int test_address_cache(void);
int test_frame_symbols(void);
int test_losses(void);
int test_symbolize(void);
int test_symbolizer_thread(void);

int main(void)
{
	return test_address_cache() + test_frame_symbols() + test_losses() + test_symbolize() +
	       test_symbolizer_thread();
}
