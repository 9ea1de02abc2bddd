/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text for --help, at most HELP_WIDTH columns wide where words allow it. */
struct buf;
struct command;
struct program;

enum { HELP_WIDTH = 88 };

/* Usage, description, options under their headings with their defaults, and examples. */
void help_command(struct buf *out, const struct program *p, const struct command *c);

/* The commands with their summaries. */
void help_program(struct buf *out, const struct program *p);
