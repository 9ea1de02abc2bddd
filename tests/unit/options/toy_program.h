/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A program with one command, which has the options of toy.h. */
#include "options/command.h"
#include "tests/unit/options/toy.h"

static const struct option_spec *const toy_tables[] = { toy_options, NULL };

static const struct command_example toy_examples[] = {
	{ "Make noise for a while", "toy play --loud" },
	{ 0 },
};

static const struct command toy_play = {
	.name = "play",
	.summary = "play with --loud toys",
	.synopsis = "[OPTION...] FILE...\n--list",
	.description = "Play until something breaks. There is nothing more to it, however long "
		       "this line becomes.\n\n.second-paragraph.",
	.options = toy_tables,
	.examples = toy_examples,
};

static const struct command *const toy_commands[] = { &toy_play, NULL };

static const struct program toy_program = { "toy", "1.0", "A program to play with.", toy_commands };
