/* SPDX-License-Identifier: Apache-2.0 */
int test_dwarf(void);
int test_dwarf_func(void);
int test_dwarf_line(void);
int test_dwarf_ranges(void);
int test_dwarf_sections(void);
int test_dwarf_unit(void);
int test_intervals(void);

int main(void)
{
	int n_failed = 0;

	n_failed += test_dwarf();
	n_failed += test_dwarf_func();
	n_failed += test_dwarf_line();
	n_failed += test_dwarf_ranges();
	n_failed += test_dwarf_sections();
	n_failed += test_dwarf_unit();
	n_failed += test_intervals();
	return n_failed;
}
