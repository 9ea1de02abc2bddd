/* SPDX-License-Identifier: Apache-2.0 */
/* The script for bash completes words in bash itself. */
#include "options/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/options/toy_program.h"
#include "tests/unit/symbol/tempdir.h"

/* Texts that a shell could misread. */
static const struct option_spec odd_options[] = {
	{ .kind = OPTION_FLAG, .name = "odd", .help = "Don't [ever]: use $HOME or `id` \\ here" },
	{ .kind = OPTION_TEXT, .name = "output", .letter = 'o', .arg = "FILE", .help = "output" },
	{ .kind = OPTION_TEXT, .name = "into", .arg = "DIR", .help = "into" },
	{ 0 },
};
static const struct option_spec *const odd_tables[] = { odd_options, NULL };
static const struct command odd = { .name = "odd",
				    .summary = "it's [odd]: \\ $HOME",
				    .options = odd_tables };
static const struct command *const two_commands[] = { &toy_play, &odd, NULL };
static const struct program two = { "toy", "1.0", "A program to play with.", two_commands };

static void write_script(const char *path, void (*make)(struct buf *, const struct program *))
{
	struct buf b = { 0 };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	make(&b, &two);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
	assert_int_equal(fclose(f), 0);
	buf_fini(&b);
}

/*
 * Completes the last of the @words of a command line, which are those of an array in bash, in the
 * directory of the test, and expects these completions.
 */
static void assert_completed(const char *dir, const char *words, const char *want)
{
	char command[1024], got[1024];
	size_t len;
	FILE *f;

	snprintf(command, sizeof(command),
		 "cd '%s' && exec bash --norc --noprofile -c '. ./script; COMP_WORDS=(%s); "
		 "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _toy; echo \"${COMPREPLY[*]}\"' 2>&1",
		 dir, words);
	f = popen(command, "r");
	assert_non_null(f);
	len = fread(got, 1, sizeof(got) - 1, f);
	got[len] = '\0';
	assert_int_equal(pclose(f), 0);
	got[strcspn(got, "\n")] = '\0';
	assert_string_equal(got, want);
}

static int setup(void **state)
{
	char path[300];
	int r = tempdir_make(state);

	if (r == 0) {
		snprintf(path, sizeof(path), "%s/script", (char *)*state);
		write_script(path, completion_bash);
		snprintf(path, sizeof(path), "%s/folder", (char *)*state);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	return r;
}

static void commands_come_first(void **state)
{
	assert_completed(*state, "toy \"\"", "play odd");
	assert_completed(*state, "toy p", "play");
	assert_completed(*state, "toy x", "");
	/* Options of a command are not options of the program. */
	assert_completed(*state, "toy --", "");
}

static void options_are_those_of_the_command(void **state)
{
	assert_completed(*state, "toy play --no", "--no-inherit");
	assert_completed(*state, "toy play --h", "--help");
	assert_completed(*state, "toy play --m", "--memory --mode");
	assert_completed(*state, "toy odd --", "--help --odd --output --into");
	assert_completed(*state, "toy unknown --", "");
}

static void values_are_those_of_the_option(void **state)
{
	assert_completed(*state, "toy play --mode \"\"", "full short no");
	assert_completed(*state, "toy play --mode s", "short");
	assert_completed(*state, "toy play --idle n", "no");
	assert_completed(*state, "toy play --colour \"\"", "red infrared");
	/* bash separates the words at the sign. */
	assert_completed(*state, "toy play --mode = \"\"", "full short no");
	assert_completed(*state, "toy play --mode = f", "full");
	/* Nothing is known about a name. */
	assert_completed(*state, "toy play --name \"\"", "");
	assert_completed(*state, "toy play -n f", "");
}

static void files_and_directories_are_completed_where_they_are_expected(void **state)
{
	assert_completed(*state, "toy odd -o f", "folder");
	assert_completed(*state, "toy odd --output s", "script");
	assert_completed(*state, "toy odd --into \"\"", "folder");
	assert_completed(*state, "toy odd s", "script");
	/* A flag has no value, so an operand follows. */
	assert_completed(*state, "toy odd --odd s", "script");
}

static void text_cannot_leave_its_quotes_in_zsh(void **state)
{
	struct buf b = { 0 };
	const char *text;
	size_t quotes = 0;

	completion_zsh(&b, &two);
	buf_put_byte(&b, 0);
	text = (const char *)b.data;
	assert_non_null(strstr(text, "'odd:it'\\''s \\[odd\\]\\: \\\\ $HOME'\n"));
	assert_non_null(
		strstr(text, "'--odd[Don'\\''t \\[ever\\]\\: use $HOME or `id` \\\\ here]'"));
	assert_non_null(strstr(text, "'--output=[output]:FILE:_files'"));
	assert_non_null(strstr(text, "'-o+[output]:FILE:_files'"));
	assert_non_null(strstr(text, "'--into=[into]:DIR:_files -/'"));
	assert_non_null(strstr(text, "'*--tag=[tag]:TAG:'"));
	/* Outside of quotes, a backslash quotes the next character. */
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			quotes++;
		else if (*p == '\\' && quotes % 2 == 0)
			p++;
	}
	assert_int_equal(quotes % 2, 0);
	buf_fini(&b);
}

static void zsh_reads_its_script(void **state)
{
	char command[400], path[300];

	snprintf(path, sizeof(path), "%s/_toy", (char *)*state);
	write_script(path, completion_zsh);
	if (system("command -v zsh >/dev/null") != 0) {
		print_message("zsh is not installed\n");
		skip();
	}
	snprintf(command, sizeof(command), "zsh -n '%s'", path);
	assert_int_equal(system(command), 0);
}

/* The completions of @line, without descriptions, separated by spaces. */
static void assert_fish(const char *dir, const char *line, const char *want)
{
	char command[600], got[1024];
	size_t len;
	FILE *f;

	snprintf(command, sizeof(command),
		 "cd '%s' && HOME=. fish --no-config -c 'source toy.fish; complete -C \"%s\"' | "
		 "cut -f 1 "
		 "| tr '\\n' ' '",
		 dir, line);
	f = popen(command, "r");
	assert_non_null(f);
	len = fread(got, 1, sizeof(got) - 1, f);
	got[len] = '\0';
	assert_int_equal(pclose(f), 0);
	assert_string_equal(got, want);
}

static void fish_completes_by_its_script(void **state)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/toy.fish", (char *)*state);
	write_script(path, completion_fish);
	if (system("command -v fish >/dev/null") != 0) {
		print_message("fish is not installed\n");
		skip();
	}
	assert_fish(*state, "toy ", "odd play ");
	assert_fish(*state, "toy o", "odd ");
	assert_fish(*state, "toy odd --", "--help --into --odd --output ");
	assert_fish(*state, "toy odd --output to", "toy.fish ");
	assert_fish(*state, "toy odd to", "toy.fish ");
}

#define SCRIPT(f) cmocka_unit_test_setup_teardown(f, setup, tempdir_remove)

TEST_GROUP(test_completion, SCRIPT(commands_come_first), SCRIPT(options_are_those_of_the_command),
	   SCRIPT(values_are_those_of_the_option),
	   SCRIPT(files_and_directories_are_completed_where_they_are_expected),
	   TEST(text_cannot_leave_its_quotes_in_zsh), SCRIPT(zsh_reads_its_script),
	   SCRIPT(fish_completes_by_its_script))
