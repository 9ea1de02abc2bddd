/* SPDX-License-Identifier: Apache-2.0 */
/* Widths are counted in bytes, because the texts are ASCII. */
#include "options/help.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "options/command.h"

enum { OPTION_COLUMN = 28, COMMAND_COLUMN = 16 };

/*
 * Appends @text to a line that has reached @column. It is wrapped, and continuation lines are
 * indented to the same column.
 */
static void put_wrapped(struct buf *out, const char *text, size_t column)
{
	size_t at = column;

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (at > column && at + 1 + n > HELP_WIDTH) {
			buf_printf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			buf_put_byte(out, ' ');
			at++;
		}
		buf_put(out, text, n);
		at += n;
		text += n;
		if (*text == '\n') {
			buf_printf(out, "\n%*s", (int)column, "");
			at = column;
		}
		text += *text != '\0';
	}
}

/* Pads the line that began @start bytes into @out up to @column, or begins a new one there. */
static void pad_to(struct buf *out, size_t start, size_t column)
{
	size_t at = out->len - start;

	if (at + 2 > column)
		buf_printf(out, "\n%*s", (int)column, "");
	else
		buf_printf(out, "%*s", (int)(column - at), "");
}

static void put_option(struct buf *out, const struct option_spec *o)
{
	struct buf text = { 0 };
	size_t start = out->len;

	if (o->letter)
		buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		buf_printf(out, "      --%s", o->name);
	if (option_value_is_optional(o))
		buf_printf(out, "[=%s]", o->arg);
	else if (option_takes_value(o))
		buf_printf(out, " %s", o->arg);
	pad_to(out, start, OPTION_COLUMN);
	buf_put_str(&text, o->help);
	if (o->kind == OPTION_TEXTS)
		buf_put_str(&text, "; may be repeated");
	if (o->list)
		buf_printf(&text, ": %s", o->list());
	if (o->preset)
		buf_printf(&text, " (default %s)", o->preset);
	buf_put_byte(&text, '\0');
	if (!buf_error(&text))
		put_wrapped(out, (const char *)text.data, OPTION_COLUMN);
	buf_put_byte(out, '\n');
	buf_fini(&text);
}

static void put_options(struct buf *out, const struct option_spec *specs)
{
	if (specs->kind != OPTION_HEADING)
		buf_put_str(out, "\nOptions:\n");
	for (; specs->kind != OPTION_END; specs++) {
		if (specs->kind == OPTION_HEADING)
			buf_printf(out, "\n%s:\n", specs->help);
		else
			put_option(out, specs);
	}
}

/* Each form of the command on a line of its own. */
static void put_usage(struct buf *out, const struct program *p, const struct command *c)
{
	const char *form = c->synopsis;

	for (int i = 0; !i || *form; i++) {
		size_t n = strcspn(form, "\n");

		buf_printf(out, "%s%s %s %.*s\n", i ? "       " : "Usage: ", p->name, c->name,
			   (int)n, form);
		form += n + (form[n] == '\n');
	}
}

void help_command(struct buf *out, const struct program *p, const struct command *c)
{
	put_usage(out, p, c);
	buf_put_byte(out, '\n');
	put_wrapped(out, c->description, 0);
	buf_put_byte(out, '\n');
	for (size_t i = 0; c->options[i]; i++)
		put_options(out, c->options[i]);
	if (c->examples && c->examples[0].line)
		buf_put_str(out, "\nExamples:\n");
	for (size_t i = 0; c->examples && c->examples[i].line; i++)
		buf_printf(out, "  %s\n", c->examples[i].line);
}

void help_program(struct buf *out, const struct program *p)
{
	buf_printf(out, "Usage: %s COMMAND [OPTION...]\n\n", p->name);
	put_wrapped(out, p->summary, 0);
	buf_put_str(out, "\n\nCommands:\n");
	for (size_t i = 0; p->commands[i]; i++) {
		size_t start = out->len;

		buf_printf(out, "  %s", p->commands[i]->name);
		pad_to(out, start, COMMAND_COLUMN);
		put_wrapped(out, p->commands[i]->summary, COMMAND_COLUMN);
		buf_put_byte(out, '\n');
	}
	buf_printf(out,
		   "\nRun \"%s COMMAND --help\" for the options of a command; each has a man page, "
		   "%s-COMMAND(1).\n",
		   p->name, p->name);
}
