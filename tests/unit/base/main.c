/* SPDX-License-Identifier: Apache-2.0 */
int test_base64(void);
int test_buf(void);
int test_cursor(void);
int test_decimal(void);
int test_dir(void);
int test_err(void);
int test_file_contents(void);
int test_file_limit(void);
int test_hash(void);
int test_heap_claim(void);
int test_index(void);
int test_json(void);
int test_json_read(void);
int test_lines(void);
int test_logfmt(void);
int test_outfile(void);
int test_regular_file(void);
int test_saturate(void);
int test_sigbus(void);
int test_siphash(void);
int test_stable(void);
int test_strtab(void);
int test_utc(void);
int test_utf8(void);
int test_vec(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_base64();
	n_failed += test_buf();
	n_failed += test_cursor();
	n_failed += test_decimal();
	n_failed += test_dir();
	n_failed += test_err();
	n_failed += test_file_contents();
	n_failed += test_file_limit();
	n_failed += test_hash();
	n_failed += test_heap_claim();
	n_failed += test_index();
	n_failed += test_json();
	n_failed += test_json_read();
	n_failed += test_lines();
	n_failed += test_logfmt();
	n_failed += test_outfile();
	n_failed += test_regular_file();
	n_failed += test_saturate();
	n_failed += test_sigbus();
	n_failed += test_siphash();
	n_failed += test_stable();
	n_failed += test_strtab();
	n_failed += test_utc();
	n_failed += test_utf8();
	n_failed += test_vec();
	return n_failed;
}
