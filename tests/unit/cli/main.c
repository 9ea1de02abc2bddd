/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/disasm.h"
#include "export/exporter_role.h"
#include "opener/opener.h"
#include "reader/reader.h"
#include "roles/role.h"
#include "symbol/worker.h"
#include "tests/unit/cli/recorder.h"

int test_agent(void);
int test_agent_exporter(void);
int test_annotate(void);
int test_args(void);
int test_child(void);
int test_ci(void);
int test_commands(void);
int test_debug(void);
int test_diff(void);
int test_doctor(void);
int test_doctor_runtimes(void);
int test_hot(void);
int test_input(void);
int test_listen(void);
int test_markdown(void);
int test_mcp(void);
int test_package_hints(void);
int test_pgo(void);
int test_record(void);
int test_report(void);
int test_server(void);
int test_source_text(void);
int test_sources(void);
int test_store(void);
int test_summary(void);
int test_symbols(void);
int test_tasks(void);
int test_tasks_text(void);
int test_text(void);
int test_top(void);
int test_top_rows(void);
int test_up(void);
int test_url(void);
int test_view(void);

int main(int argc, char **argv)
{
	const struct role *const roles[] = { &reader_role, &symbolizer_role, &opener_role,
					     &exporter_role, &disassembler_role };

	role_main(argc, argv, roles, sizeof(roles) / sizeof(*roles));
	recorder_main(argc, argv);
	return test_agent() + test_agent_exporter() + test_annotate() + test_args() + test_child() +
	       test_ci() + test_commands() + test_debug() + test_diff() + test_doctor() +
	       test_doctor_runtimes() + test_hot() + test_input() + test_listen() +
	       test_markdown() + test_mcp() + test_package_hints() + test_pgo() + test_record() +
	       test_report() + test_server() + test_source_text() + test_sources() + test_store() +
	       test_summary() + test_symbols() + test_tasks() + test_tasks_text() + test_text() +
	       test_top() + test_top_rows() + test_up() + test_url() + test_view();
}
