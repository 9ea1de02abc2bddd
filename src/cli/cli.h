/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that all commands share: reading the command line, reporting errors, exit statuses.
 * Exit statuses: 0 for success, 1 for a failure (EXIT_FAILURE), EXIT_USAGE for a wrong command
 * line; the others are those of shells for commands that `cameo record` runs.
 */
struct command;
struct err;
struct format;
struct operands;
struct option_set;

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

/* Returned by functions that otherwise return an exit status: the command continues. */
enum { CLI_CONTINUE = -1 };

/* Prints "cameo COMMAND: MESSAGE" to standard error and returns EXIT_FAILURE. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports a wrong command line in the same way and returns EXIT_USAGE. */
int cli_fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints --help of @c to standard output. Returns 0. */
int cli_help(const struct command *c);

/**
 * cli_parse() - set the defaults of a command's options and read its command line
 *
 * @sets, @flags and @out are those of arguments_parse(). The values are freed with cli_fini() in
 * every case.
 *
 * Return: CLI_CONTINUE; 0 after --help was printed; EXIT_USAGE after an error was printed.
 */
int cli_parse(const struct command *c, const struct option_set *sets, unsigned int flags, int argc,
	      char **argv, struct operands *out);
void cli_fini(const struct option_set *sets, struct operands *operands);

/**
 * cli_output_format() - choose the format of an output file
 *
 * The format is the one called @id, the value of the option @option (such as "--to"); if @id is
 * NULL, the one that the suffix of @path stands for, or @fallback (NULL: none) for "-".
 *
 * Return: 0 or -EINVAL with the reason.
 */
int cli_output_format(const char *path, const char *option, const char *id, const char *fallback,
		      const struct format **out, struct err *err);
