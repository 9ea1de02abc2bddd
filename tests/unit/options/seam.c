/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An option is one entry of a table. The toys of toy.h exist nowhere else, yet each is in the
 * parser, in --help, on the man page, among the keys of a config file and in completion.
 */
#include "base/buf.h"
#include "options/arguments.h"
#include "options/command.h"
#include "options/completion.h"
#include "options/config_file.h"
#include "options/help.h"
#include "options/man.h"
#include "tests/test.h"
#include "tests/unit/options/toy_program.h"

static const char *finish(struct buf *b)
{
	buf_put_byte(b, 0);
	assert_int_equal(buf_error(b), 0);
	return (const char *)b->data;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void is_parsed(void **state)
{
	struct toy t = { 0 };
	const struct option_set sets[] = { { toy_options, &t }, { 0 } };
	char *argv[] = { (char *)"toy", (char *)"--window=2s", NULL };

	assert_int_equal(arguments_parse(sets, ARGUMENTS_NO_OPERANDS, 2, argv, NULL, NULL), 0);
	assert_int_equal(t.window, 2000000000);
	assert_int_equal(config_file_assign(sets, "window", "3s", NULL), 0);
	assert_int_equal(t.window, 3000000000);
}

static void is_in_the_help(void **state)
{
	struct buf b = { 0 };
	const char *text;

	help_command(&b, &toy_program, &toy_play);
	text = finish(&b);
	has(text, "Usage: toy play [OPTION...] FILE...\n       toy play --list\n");
	has(text, "\nToys:\n");
	has(text, "\n  -l, --loud                loud\n");
	has(text, "\n      --idle[=yes|no]       idle (default no)\n");
	has(text, "\n  -F, --freq HZ             freq (default 19)\n");
	has(text, "\n      --colour COLOUR       colour: red, infrared\n");
	has(text, "\nExamples:\n  toy play --loud\n");
	for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
		assert_true(strcspn(p, "\n") <= HELP_WIDTH);
	b.len = 0;
	help_program(&b, &toy_program);
	has(finish(&b), "\n  play          play with --loud toys\n");
	buf_fini(&b);
}

static void is_on_the_man_page(void **state)
{
	struct buf b = { 0 };
	const char *text;

	assert_int_equal(man_page(&b, &toy_program, &toy_play,
				  "@HEAD@\n.SH DESCRIPTION\nMine.\n@OPTIONS@\n@EXAMPLES@\n"),
			 0);
	text = finish(&b);
	has(text, ".TH TOY\\-PLAY 1 \"\" \"toy 1.0\" \"User Commands\"\n");
	has(text, "toy\\-play \\- play with \\fB\\-\\-loud\\fR toys\n");
	has(text, "\\fBtoy play\\fR [\\fIOPTION\\fR...] \\fIFILE\\fR...\n.br\n");
	has(text, ".SH DESCRIPTION\nMine.\n.SH OPTIONS\n.SS Toys\n");
	has(text, ".TP\n\\fB\\-F\\fR, \\fB\\-\\-freq\\fR \\fIHZ\\fR\nfreq.\nThe default is 19.\n"
		  "Changes take effect at the next start.\n");
	has(text, "Make noise for a while:\n");
	b.len = 0;
	assert_int_equal(man_page(&b, &toy_program, NULL, "@HEAD@\n@COMMANDS@\n"), 0);
	has(finish(&b), ".TP\n\\fBtoy\\-play\\fR(1)\n");
	assert_int_equal(man_page(&b, &toy_program, &toy_play, "@NOSUCH@\n"), -EINVAL);
	buf_fini(&b);
}

static void is_completed(void **state)
{
	struct buf b = { 0 };
	const char *text;

	completion_bash(&b, &toy_program);
	text = finish(&b);
	has(text, " --window");
	has(text, "play:--mode) words='full short no' ;;");
	has(text, "play:--colour) words='red infrared' ;;");
	has(text, "complete -o filenames -F _toy toy\n");
	b.len = 0;
	completion_zsh(&b, &toy_program);
	text = finish(&b);
	has(text, "#compdef toy\n");
	has(text, "'--mode=[mode]:full|short|no:(full short no)'");
	buf_fini(&b);
}

TEST_GROUP(test_seam, TEST(is_parsed), TEST(is_in_the_help), TEST(is_on_the_man_page),
	   TEST(is_completed))
