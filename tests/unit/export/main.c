/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter_role.h"
#include "roles/role.h"
#include "tests/test.h"

int test_channel(void);
int test_directory(void);
int test_exporter(void);
int test_otlp_answer(void);
int test_otlp_sink(void);
int test_seam(void);
int test_spool(void);
int test_window(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &exporter_role };

	role_main(argc, argv, roles, 1);
	return test_channel() + test_directory() + test_exporter() + test_otlp_answer() +
	       test_otlp_sink() + test_seam() + test_spool() + test_window();
}
