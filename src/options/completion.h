/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Completion scripts. All complete the commands, the names of their options, the values of
 * options that have a fixed choice, and file names elsewhere.
 */
struct buf;
struct program;

/* A script for bash, sourced on demand by the package bash-completion. */
void completion_bash(struct buf *out, const struct program *p);

/* An autoloaded function for zsh. */
void completion_zsh(struct buf *out, const struct program *p);

/* A script for fish, loaded on demand from a directory of completions. */
void completion_fish(struct buf *out, const struct program *p);
