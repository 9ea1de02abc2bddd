/* SPDX-License-Identifier: Apache-2.0 */
int test_attach(void);
int test_backlog(void);
int test_cpu_list(void);
int test_events(void);
int test_ring_reader(void);
int test_uprobe(void);

int main(void)
{
	return test_attach() + test_backlog() + test_cpu_list() + test_events() +
	       test_ring_reader() + test_uprobe();
}
