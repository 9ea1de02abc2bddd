/* SPDX-License-Identifier: Apache-2.0 */
int test_descendants(void);
int test_maps(void);
int test_resident_pages(void);
int test_root(void);
int test_stat(void);
int test_text(void);
int test_user(void);

int main(void)
{
	return test_descendants() + test_maps() + test_resident_pages() + test_root() +
	       test_stat() + test_text() + test_user();
}
