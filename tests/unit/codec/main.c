/* SPDX-License-Identifier: Apache-2.0 */
int test_tracks(void);
int test_wire(void);
int test_gzip(void);
int test_id_map(void);
int test_jfr_cursor(void);
int test_jfr_read(void);
int test_json_profile(void);
int test_pprof_write(void);
int test_pprof_read(void);
int test_folded_write(void);
int test_folded_read(void);
int test_austin_read(void);
int test_address_map(void);
int test_gperftools_read(void);
int test_otlp(void);
int test_otlp_dictionary(void);
int test_otlp_json(void);
int test_page_json(void);
int test_page_times(void);
int test_chrome_write(void);
int test_chrome_read(void);
int test_firefox_write(void);
int test_firefox_read(void);
int test_svg_write(void);
int test_speedscope_write(void);
int test_speedscope_read(void);
int test_cpuprofile_read(void);
int test_format(void);
int test_perfscript_line(void);
int test_perfscript_read(void);

int main(void)
{
	int failed = 0;

	failed += test_tracks();
	failed += test_wire();
	failed += test_gzip();
	failed += test_id_map();
	failed += test_jfr_cursor();
	failed += test_jfr_read();
	failed += test_json_profile();
	failed += test_pprof_write();
	failed += test_pprof_read();
	failed += test_folded_write();
	failed += test_folded_read();
	failed += test_austin_read();
	failed += test_address_map();
	failed += test_gperftools_read();
	failed += test_otlp();
	failed += test_otlp_dictionary();
	failed += test_otlp_json();
	failed += test_page_json();
	failed += test_page_times();
	failed += test_chrome_write();
	failed += test_chrome_read();
	failed += test_firefox_write();
	failed += test_firefox_read();
	failed += test_svg_write();
	failed += test_speedscope_write();
	failed += test_speedscope_read();
	failed += test_cpuprofile_read();
	failed += test_format();
	failed += test_perfscript_line();
	failed += test_perfscript_read();
	return failed;
}
