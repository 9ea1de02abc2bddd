/* SPDX-License-Identifier: Apache-2.0 */
int test_answers(void);
int test_backlog(void);
int test_collect(void);
int test_config(void);
int test_cpus(void);
int test_doctor(void);
int test_events(void);
int test_mapset(void);
int test_metrics(void);
int test_names(void);
int test_offcpu(void);
int test_privileges(void);
int test_report(void);
int test_waits(void);

int main(void)
{
	return test_answers() + test_backlog() + test_collect() + test_config() + test_cpus() +
	       test_doctor() + test_events() + test_mapset() + test_metrics() + test_names() +
	       test_offcpu() + test_privileges() + test_report() + test_waits();
}
