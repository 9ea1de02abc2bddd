/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommands: each gets its own arguments, argv[0] being "cameo NAME", and returns an exit
 * status. */

struct cli_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

int cli_record(int argc, char **argv);
int cli_symbols(int argc, char **argv);
int cli_unwind_info(int argc, char **argv);

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

/* "cameo: MESSAGE" on standard error; returns 1. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
