/* SPDX-License-Identifier: Apache-2.0 */
int test_wire(void);
int test_gzip(void);
int test_page_json(void);
int test_pprof_write(void);
int test_folded_write(void);

int main(void)
{
	return test_wire() + test_gzip() + test_page_json() + test_pprof_write() +
	       test_folded_write();
}
