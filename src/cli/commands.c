/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This list decides which commands exist: help, the manual pages and completion are generated from
 * it. The order is that of help.
 */
#include "cli/commands.h"

static const struct command *const commands[] = {
	&agent_command,  &annotate_command,    &ci_command,    &convert_command, &debug_command,
	&diff_command,   &doctor_command,      &mcp_command,   &pgo_command,     &record_command,
	&report_command, &server_command,      &store_command, &symbols_command, &tasks_command,
	&top_command,    &unwind_info_command, &up_command,    &view_command,    NULL,
};

const struct program cameo_program = {
	.name = "cameo",
	.version = CAMEO_VERSION,
	.summary = "A profiler for whole Linux machines: kernel, native and interpreted code in "
		   "one stack trace",
	.commands = commands,
};
