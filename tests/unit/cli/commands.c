/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the rules that --help, man pages and completion rely on, for every option of every
 * command.
 */
#include "cli/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "options/help.h"
#include "tests/test.h"

enum { COLUMNS_MAX = 100 };

/* Calls @fn for each option of each command. */
static void each_option(void (*fn)(const struct command *c, const struct option_spec *o))
{
	for (size_t i = 0; cameo_program.commands[i]; i++)
		for (size_t t = 0; cameo_program.commands[i]->options[t]; t++)
			for (const struct option_spec *o = cameo_program.commands[i]->options[t];
			     o->kind != OPTION_END; o++)
				if (o->kind != OPTION_HEADING)
					fn(cameo_program.commands[i], o);
}

static void check_text(const struct command *c, const struct option_spec *o)
{
	size_t n = strlen(o->help);

	if (!n || !isupper((unsigned char)o->help[0]) || o->help[n - 1] == '.')
		fail_msg("%s --%s: not a sentence without a full stop: %s", c->name, o->name,
			 o->help);
	if (o->details && o->details[strlen(o->details) - 1] != '.')
		fail_msg("%s --%s: the details do not end in a full stop", c->name, o->name);
	if ((o->arg != NULL) != (o->kind != OPTION_FLAG))
		fail_msg("%s --%s: a value and its placeholder belong together", c->name, o->name);
	if ((o->parse != NULL) != (o->kind == OPTION_CUSTOM))
		fail_msg("%s --%s: a parse function belongs to a custom option", c->name, o->name);
}

static void every_option_is_described(void **state)
{
	each_option(check_text);
}

static void check_unique(const struct command *c, const struct option_spec *o)
{
	int n_name = 0, n_letter = 0;

	for (size_t t = 0; c->options[t]; t++) {
		for (const struct option_spec *p = c->options[t]; p->kind != OPTION_END; p++) {
			n_name += p->name && !strcmp(p->name, o->name);
			n_letter += p->letter && p->letter == o->letter;
		}
	}
	if (n_name != 1 || n_letter > 1)
		fail_msg("%s --%s: the name or the letter exists twice", c->name, o->name);
}

static void names_and_letters_are_unique(void **state)
{
	each_option(check_unique);
}

static void every_command_is_described(void **state)
{
	for (size_t i = 0; cameo_program.commands[i]; i++) {
		const struct command *c = cameo_program.commands[i];

		if (!islower((unsigned char)c->summary[0]) || strchr(c->summary, '\n'))
			fail_msg("%s: the summary does not begin in lower case", c->name);
		assert_non_null(c->run);
		assert_non_null(c->synopsis);
		if (c->description[strlen(c->description) - 1] != '.')
			fail_msg("%s: the description does not end in a full stop", c->name);
		assert_non_null(c->examples[0].line);
		for (size_t e = 0; c->examples[e].line; e++)
			assert_non_null(strstr(c->examples[e].line, "cameo"));
	}
}

static void help_fits_on_a_terminal(void **state)
{
	for (size_t i = 0; cameo_program.commands[i]; i++) {
		const struct command *c = cameo_program.commands[i];
		struct buf text = { 0 };
		const char *line;

		help_command(&text, &cameo_program, c);
		buf_put_byte(&text, 0);
		assert_int_equal(buf_error(&text), 0);
		for (line = (const char *)text.data; *line; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > COLUMNS_MAX)
				fail_msg("%s: %s", c->name, line);
		buf_fini(&text);
	}
}

TEST_GROUP(test_commands, TEST(every_option_is_described), TEST(names_and_letters_are_unique),
	   TEST(every_command_is_described), TEST(help_fits_on_a_terminal))
