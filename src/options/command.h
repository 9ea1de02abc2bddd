/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The description of a command. --help, its man page and shell completion are made from
 * this description; nothing about a command is written down a second time.
 */
#include "options/option.h"

struct command_example {
	const char *purpose; /* a sentence without its full stop, which precedes a colon */
	const char *line;    /* as typed into a shell */
};

struct command {
	const char *name;
	const char *summary;     /* what the command does, imperative, lower case, no full stop */
	const char *synopsis;    /* what follows the name; one line per form */
	const char *description; /* sentences; "\n\n" separates paragraphs */
	/* Tables of options in the order in which they are displayed; NULL ends the array. */
	const struct option_spec *const *options;
	const struct command_example *examples; /* one without a line ends the array */
	/*
	 * Runs the command with its own arguments; argv[0] is "cameo NAME". Returns an exit status.
	 */
	int (*run)(int argc, char **argv);
};

#define COMMAND_OPTIONS(...)  ((const struct option_spec *const[]){ __VA_ARGS__, NULL })
#define COMMAND_EXAMPLES(...) ((const struct command_example[]){ __VA_ARGS__, { 0 } })

struct program {
	const char *name, *version;
	const char *summary;
	const struct command *const *commands; /* NULL ends the array */
};
