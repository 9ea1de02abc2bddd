/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts list the options and values of this build; they never run the program. */
#include "options/completion.h"

#include <string.h>

#include "base/buf.h"
#include "options/command.h"

/* Calls @fn for each option of @c. */
static void each_option(struct buf *out, const struct command *c,
			void (*fn)(struct buf *out, const struct command *c,
				   const struct option_spec *o))
{
	for (size_t i = 0; c->options[i]; i++)
		for (const struct option_spec *o = c->options[i]; o->kind != OPTION_END; o++)
			if (o->kind != OPTION_HEADING)
				fn(out, c, o);
}

/* The list of an option's possible values; NULL: there is none. */
static const char *values_of(const struct option_spec *o)
{
	if (o->kind == OPTION_CHOICE || o->kind == OPTION_BOOL)
		return o->arg;
	return o->list && strncmp(o->arg, "FILE", 4) != 0 ? o->list() : NULL;
}

/* "full|short|no" or "full, short, no" as "full short no". */
static void put_words(struct buf *out, const char *choices)
{
	for (; *choices; choices++)
		if (*choices != ',')
			buf_put_byte(out, *choices == '|' ? ' ' : (uint8_t)*choices);
}

/* ---- bash ----------------------------------------------------------------------- */

static void put_bash_name(struct buf *out, const struct command *c, const struct option_spec *o)
{
	buf_printf(out, " --%s", o->name);
}

/* The branch for the word after an option that takes a value. */
static void put_bash_value(struct buf *out, const struct command *c, const struct option_spec *o)
{
	if (o->kind == OPTION_FLAG)
		return;
	if (o->letter)
		buf_printf(out, "\t%s:-%c | %s:--%s) ", c->name, o->letter, c->name, o->name);
	else
		buf_printf(out, "\t%s:--%s) ", c->name, o->name);
	if (values_of(o)) {
		buf_put_str(out, "words='");
		put_words(out, values_of(o));
		buf_put_str(out, "' ;;\n");
	} else if (!strncmp(o->arg, "FILE", 4)) {
		buf_put_str(out, "files=-f ;;\n");
	} else if (!strcmp(o->arg, "DIR")) {
		buf_put_str(out, "files=-d ;;\n");
	} else {
		buf_put_str(out, "return ;;\n");
	}
}

/*
 * bash splits words at '=', so "--output=f" arrives as three words; the script looks for the option
 * two words back if the previous one is "=".
 */
void completion_bash(struct buf *out, const struct program *p)
{
	buf_printf(out, "# bash completion for %s(1)\n_%s()\n{\n", p->name, p->name);
	buf_put_str(out, "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			 "\tlocal command=${COMP_WORDS[1]} words='' files=''\n\n"
			 "\tCOMPREPLY=()\n"
			 "\tif [ \"$cur\" = = ]; then cur=''; fi\n"
			 "\tif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
			 "\tif [ \"$COMP_CWORD\" -eq 1 ]; then command='' prev=''; fi\n"
			 "\tcase $command:$prev in\n");
	for (size_t i = 0; p->commands[i]; i++)
		each_option(out, p->commands[i], put_bash_value);
	buf_put_str(out, "\t*)\n\t\tcase $command:$cur in\n\t\t:*) words='");
	for (size_t i = 0; p->commands[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", p->commands[i]->name);
	buf_put_str(out, "' ;;\n");
	for (size_t i = 0; p->commands[i]; i++) {
		buf_printf(out, "\t\t%s:-*) words='--help", p->commands[i]->name);
		each_option(out, p->commands[i], put_bash_name);
		buf_put_str(out, "' ;;\n");
	}
	buf_put_str(out, "\t\t*) files=-f ;;\n\t\tesac\n\t\t;;\n\tesac\n"
			 "\tmapfile -t COMPREPLY < <(compgen ${files:-} ${words:+-W \"$words\"} -- "
			 "\"$cur\")\n}\n");
	buf_printf(out, "complete -o filenames -F _%s %s\n", p->name, p->name);
}

/* ---- zsh ------------------------------------------------------------------------ */

/* Text between the brackets or quotes of an argument of _arguments. */
static void put_zsh_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_put_str(out, "'\\'");
		else if (strchr("[]:\\", *text))
			buf_put_byte(out, '\\');
		buf_put_byte(out, (uint8_t)*text);
	}
}

/* '*' marks an option that may be repeated; '=' and '+' allow a value in the same word. */
static void put_zsh_option(struct buf *out, const struct command *c, const struct option_spec *o)
{
	const char *many = o->kind == OPTION_TEXTS || o->kind == OPTION_CUSTOM ? "*" : "";
	const char *sign = option_takes_value(o) ? "=" : "";

	for (int letter = 0; letter < (o->letter ? 2 : 1); letter++) {
		if (letter)
			buf_printf(out, " \\\n\t\t\t'%s-%c%s[", many, o->letter, *sign ? "+" : "");
		else
			buf_printf(out, " \\\n\t\t\t'%s--%s%s[", many, o->name, sign);
		put_zsh_text(out, o->help);
		buf_put_str(out, "]");
		if (*sign) {
			buf_put_byte(out, ':');
			put_zsh_text(out, o->arg);
			buf_put_byte(out, ':');
		}
		if (*sign && values_of(o)) {
			buf_put_byte(out, '(');
			put_words(out, values_of(o));
			buf_put_byte(out, ')');
		} else if (*sign && !strncmp(o->arg, "FILE", 4)) {
			buf_put_str(out, "_files");
		} else if (*sign && !strcmp(o->arg, "DIR")) {
			buf_put_str(out, "_files -/");
		}
		buf_put_byte(out, '\'');
	}
}

void completion_zsh(struct buf *out, const struct program *p)
{
	buf_printf(out, "#compdef %s\n\nlocal -a commands\ncommands=(\n", p->name);
	for (size_t i = 0; p->commands[i]; i++) {
		buf_printf(out, "\t'%s:", p->commands[i]->name);
		put_zsh_text(out, p->commands[i]->summary);
		buf_put_str(out, "'\n");
	}
	buf_put_str(out, ")\nif (( CURRENT == 2 )); then\n\t_describe command commands\n\treturn\n"
			 "fi\ncase $words[2] in\n");
	for (size_t i = 0; p->commands[i]; i++) {
		buf_printf(out, "\t%s)\n\t\t_arguments '--help[Print the options]'",
			   p->commands[i]->name);
		each_option(out, p->commands[i], put_zsh_option);
		buf_put_str(out, " '*:file:_files' ;;\n");
	}
	buf_put_str(out, "esac\n");
}

/* ---- fish ----------------------------------------------------------------------- */

/* Text in single quotes. */
static void put_fish_text(struct buf *out, const char *text)
{
	buf_put_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_put_byte(out, '\\');
		buf_put_byte(out, (uint8_t)*text);
	}
	buf_put_byte(out, '\'');
}

/* -x: a value, and no files; -r -F: a value, which may be a file. */
static void put_fish_value(struct buf *out, const struct option_spec *o)
{
	if (!option_takes_value(o))
		return;
	if (!strncmp(o->arg, "FILE", 4)) {
		buf_put_str(out, " -r -F");
		return;
	}
	buf_put_str(out, " -x");
	if (!strcmp(o->arg, "DIR")) {
		buf_put_str(out, " -a '(__fish_complete_directories)'");
	} else if (values_of(o)) {
		buf_put_str(out, " -a '");
		put_words(out, values_of(o));
		buf_put_byte(out, '\'');
	}
}

static void put_fish_option(struct buf *out, const struct command *c, const struct option_spec *o)
{
	buf_printf(out,
		   "complete -c $program -n 'string match -q -- %s (commandline -opc)[2]' -l %s",
		   c->name, o->name);
	if (o->letter)
		buf_printf(out, " -s %c", o->letter);
	put_fish_value(out, o);
	buf_put_str(out, " -d ");
	put_fish_text(out, o->help);
	buf_put_byte(out, '\n');
}

/* The first word is a command; operands are files. */
void completion_fish(struct buf *out, const struct program *p)
{
	buf_printf(out, "# fish completion for %s(1)\nset -l program %s\n", p->name, p->name);
	buf_put_str(out, "complete -c $program -f\n"
			 "complete -c $program -n 'test (count (commandline -opc)) -gt 1' -F\n"
			 "complete -c $program -l help -d 'Print the options'\n");
	for (size_t i = 0; p->commands[i]; i++) {
		buf_printf(
			out,
			"complete -c $program -n 'test (count (commandline -opc)) -eq 1' -a %s -d ",
			p->commands[i]->name);
		put_fish_text(out, p->commands[i]->summary);
		buf_put_byte(out, '\n');
	}
	for (size_t i = 0; p->commands[i]; i++)
		each_option(out, p->commands[i], put_fish_option);
}
