/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Man pages: hand-written sections around generated ones. A template is man(7) source in which
 * a line that consists of one of these words is replaced:
 *
 *	@HEAD@      title, NAME and SYNOPSIS
 *	@OPTIONS@   the section OPTIONS
 *	@EXAMPLES@  the section EXAMPLES
 *	@COMMANDS@  entries for all commands, without a section heading
 */
struct buf;
struct command;
struct program;

/*
 * Appends the page of @c, or of the whole program if @c is NULL, made from @template. 0, or
 * -EINVAL for a line that looks like a placeholder but is not one.
 */
int man_page(struct buf *out, const struct program *p, const struct command *c,
	     const char *template);
