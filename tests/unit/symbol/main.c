/* SPDX-License-Identifier: Apache-2.0 */
int test_demangle(void);
int test_dwarf(void);
int test_intervals(void);
int test_protocol(void);

int main(void)
{
	return test_demangle() + test_dwarf() + test_intervals() + test_protocol();
}
