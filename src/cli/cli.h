/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommands: each gets its own arguments, argv[0] being "cameo NAME", and returns an exit
 * status. */

struct err;
struct format;

struct cli_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

int cli_agent(int argc, char **argv);
int cli_convert(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_server(int argc, char **argv);
int cli_symbols(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_unwind_info(int argc, char **argv);
int cli_up(int argc, char **argv);
int cli_view(int argc, char **argv);

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

/* "cameo: MESSAGE" on standard error; returns 1. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The format to write: the one called @id, else that of @path's suffix, else (of
 * "-") the one called @fallback, if any. 0 or -EINVAL.
 */
int cli_output_format(const char *path, const char *id, const char *fallback,
		      const struct format **out, struct err *err);
