/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The commands of `cameo`. Each describes itself in the file of its name. */
#include "options/command.h"

extern const struct command agent_command;
extern const struct command annotate_command;
extern const struct command ci_command;
extern const struct command convert_command;
extern const struct command debug_command;
extern const struct command diff_command;
extern const struct command doctor_command;
extern const struct command mcp_command;
extern const struct command pgo_command;
extern const struct command record_command;
extern const struct command report_command;
extern const struct command server_command;
extern const struct command store_command;
extern const struct command symbols_command;
extern const struct command tasks_command;
extern const struct command top_command;
extern const struct command unwind_info_command;
extern const struct command up_command;
extern const struct command view_command;

extern const struct program cameo_program;
