/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages are read by a small model of man(7): lines that begin with a period are requests, and a few
 * escapes are undone in all others. The result must be the text of the tables.
 */
#include "options/man.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "options/command.h"
#include "tests/test.h"
#include "tests/unit/options/toy_program.h"

/* Appends the text of a line without its markup. */
static void read_line(struct buf *out, const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] != '\\') {
			buf_put_byte(out, (uint8_t)line[i]);
			continue;
		}
		assert_true(++i < len);
		if (line[i] == '-')
			buf_put_byte(out, '-');
		else if (line[i] == 'e')
			buf_put_byte(out, '\\');
		else if (line[i] == 'f')
			assert_non_null(strchr("BIR", line[++i]));
		else
			assert_int_equal(line[i], '&');
	}
	buf_put_byte(out, '\n');
}

/* The text of a page; requests are reduced to their names in brackets. */
static char *read_page(const struct buf *page)
{
	static const char requests[] = " TH nh SH SS TP PP IP br RS RE EX EE ";
	const char *p = (const char *)page->data, *end = p + page->len;
	struct buf out = { 0 };

	for (const char *next; p < end; p = next) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = newline ? (size_t)(newline - p) : (size_t)(end - p);
		char name[5] = " ";

		next = p + len + 1;
		assert_int_not_equal(*p, '\'');
		if (*p != '.') {
			read_line(&out, p, len);
			continue;
		}
		memcpy(name + 1, p + 1, 2);
		name[3] = ' ';
		if (!strstr(requests, name))
			fail_msg("\"%.*s\" is not a request", (int)len, p);
		buf_printf(&out, "[%.2s]\n", p + 1);
	}
	buf_put_byte(&out, 0);
	assert_int_equal(buf_error(&out), 0);
	return (char *)out.data;
}

static char *page_of(const struct program *p, const struct command *c, const char *template)
{
	struct buf b = { 0 };
	char *text;

	assert_int_equal(man_page(&b, p, c, template), 0);
	text = read_page(&b);
	buf_fini(&b);
	return text;
}

static void assert_page(const struct program *p, const struct command *c, const char *template,
			const char *want)
{
	char *text = page_of(p, c, template);

	assert_string_equal(text, want);
	free(text);
}

static const char *list(void)
{
	return "one, two";
}

/* A command with one option, whose texts the tests choose. */
static struct option_spec option[2];
static const struct option_spec *const tables[] = { option, NULL };
static struct command_example examples[2];
static struct command command = { .name = "odd", .options = tables, .examples = examples };
static const struct command *const commands[] = { &command, NULL };
static const struct program program = { "toy", "1.0", "toys", commands };

static void an_entry_has_all_parts_of_an_option(void **state)
{
	option[0] = (struct option_spec){ .kind = OPTION_TEXT,
					  .letter = 'x',
					  .name = "ex-tra",
					  .arg = "NAME",
					  .preset = ".dot",
					  .list = list,
					  .flags = OPTION_FIXED,
					  .help = "Do it",
					  .details = "First.\n\n.second\n'third" };
	assert_page(&program, &command, "@OPTIONS@\n",
		    "[SH]\n[TP]\n-x, --ex-tra NAME\nDo it: one, two.\nFirst.\n[IP]\n.second\n"
		    "'third\nThe default is .dot.\nChanges take effect at the next start.\n");
	option[0] = (struct option_spec){
		.kind = OPTION_TEXTS, .name = "tag", .arg = "TAG", .help = "Add"
	};
	assert_page(&program, &command, "@OPTIONS@",
		    "[SH]\n[TP]\n--tag TAG\nAdd; may be repeated.\n");
	option[0] = (struct option_spec){
		.kind = OPTION_BOOL, .name = "idle", .arg = "yes|no", .help = "Idle"
	};
	assert_page(&program, &command, "@OPTIONS@", "[SH]\n[TP]\n--idle[=yes|no]\nIdle.\n");
	option[0] = (struct option_spec){ .kind = OPTION_HEADING, .help = "Toys" };
	assert_page(&program, &command, "@OPTIONS@", "[SH]\n[SS]\n");
}

static void text_never_becomes_markup(void **state)
{
	static const char chars[] = ".'\\-\n aB(\"&f";
	unsigned int seed = 3;

	for (int i = 0; i < 2000; i++) {
		char help[24], want[200];
		char *text;
		size_t n = 1 + (size_t)rand_r(&seed) % (sizeof(help) - 2), k = 0;

		/* An empty line would be a paragraph, and a table has none in @help. */
		for (; k < n; k++) {
			help[k] = chars[(size_t)rand_r(&seed) % (sizeof(chars) - 1)];
			if (help[k] == '\n' && (!k || help[k - 1] == '\n' || k == n - 1))
				help[k] = '.';
		}
		help[n] = '\0';
		option[0] = (struct option_spec){ .kind = OPTION_FLAG, .name = "x", .help = help };
		snprintf(want, sizeof(want), "[SH]\n[TP]\n--x\n%s.\n", help);
		text = page_of(&program, &command, "@OPTIONS@");
		assert_string_equal(text, want);
		free(text);
	}
}

static void examples_are_unmodified(void **state)
{
	examples[0] = (struct command_example){ "Say \"-x\"", ".toy odd 'a b' \\ --x | less" };
	assert_page(&program, &command, "@EXAMPLES@",
		    "[SH]\n[PP]\nSay \"-x\":\n[PP]\n[RS]\n[EX]\n.toy odd 'a b' \\ --x | less\n"
		    "[EE]\n[RE]\n");
	command.examples = NULL;
	assert_page(&program, &command, "@EXAMPLES@", "");
	command.examples = examples;
}

static void names_of_options_in_text_are_bold(void **state)
{
	static const struct {
		const char *help, *want;
	} cases[] = {
		{ "see --ex-tra and -x", "see \\fB\\-\\-ex\\-tra\\fR and \\fB\\-x\\fR.\n" },
		{ "(--a)", "(\\fB\\-\\-a\\fR).\n" },
		{ "a--b, x-y", "a\\-\\-b, x\\-y.\n" },
		{ "-1, -xy, ---a, --", "\\-1, \\-xy, \\-\\-\\-a, \\-\\-.\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };

		option[0] = (struct option_spec){ .kind = OPTION_FLAG,
						  .name = "x",
						  .help = cases[i].help };
		assert_int_equal(man_page(&b, &program, &command, "@OPTIONS@"), 0);
		buf_put_byte(&b, 0);
		assert_string_equal(strstr((char *)b.data, "\\fR\n") + 4, cases[i].want);
		buf_fini(&b);
	}
}

static void the_head_names_the_command_or_the_program(void **state)
{
	assert_page(&toy_program, &toy_play, "@HEAD@",
		    "[TH]\n[nh]\n[SH]\ntoy-play - play with --loud toys\n[SH]\n"
		    "toy play [OPTION...] FILE...\n[br]\ntoy play --list\n");
	assert_page(&toy_program, NULL, "@HEAD@",
		    "[TH]\n[nh]\n[SH]\ntoy - A program to play with.\n[SH]\n"
		    "toy [COMMAND] [OPTION...]\n");
	assert_page(&toy_program, NULL, "@COMMANDS@\n",
		    "[TP]\ntoy-play(1)\nplay with --loud toys\n");
}

static void other_lines_of_the_template_are_copied(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(man_page(&b, &program, &command, ".SH A\n\nx @HEAD@\nlast"), 0);
	buf_put_byte(&b, 0);
	assert_string_equal((char *)b.data, ".SH A\n\nx @HEAD@\nlast\n");
	b.len = 0;
	assert_int_equal(man_page(&b, &program, &command, ""), 0);
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static void unknown_placeholders_are_refused(void **state)
{
	static const char *const bad[] = { "@HEAD", "@HEAD@ ", "@head@", "@", "text\n@X@\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = { 0 };

		assert_int_equal(man_page(&b, &program, &command, bad[i]), -EINVAL);
		buf_fini(&b);
	}
	for (size_t i = 0; i < 2; i++) {
		struct buf b = { 0 };

		/* The page of the whole program has no options of its own. */
		assert_int_equal(man_page(&b, &program, NULL, i ? "@OPTIONS@" : "@EXAMPLES@"),
				 -EINVAL);
		buf_fini(&b);
	}
}

TEST_GROUP(test_man, TEST(an_entry_has_all_parts_of_an_option), TEST(text_never_becomes_markup),
	   TEST(examples_are_unmodified), TEST(names_of_options_in_text_are_bold),
	   TEST(the_head_names_the_command_or_the_program),
	   TEST(other_lines_of_the_template_are_copied), TEST(unknown_placeholders_are_refused))
