/* SPDX-License-Identifier: Apache-2.0 */
#include "options/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/test.h"
#include "tests/unit/options/toy.h"

enum { ARGS_MAX = 12 };

/* Parses @line, words separated by single blanks, into @t. */
static int parse(struct toy *t, unsigned int flags, const char *line, struct operands *out,
		 struct err *err)
{
	static char text[200];
	const struct option_set sets[] = { { toy_options, t }, { 0 } };
	char *argv[ARGS_MAX] = { text };
	int argc = 1;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	*t = (struct toy){ .inherit = true };
	return arguments_parse(sets, flags, argc, argv, out, err);
}

static void fini(struct toy *t)
{
	option_set_fini(&(struct option_set){ toy_options, t });
}

static void all_spellings_are_read(void **state)
{
	struct operands operands = { 0 };
	struct toy t;

	assert_int_equal(parse(&t, 0, "-F 99 file --name=a=b -lc5 --idle other --mem 3 -- -x",
			       &operands, NULL),
			 0);
	assert_int_equal(t.freq, 99);
	assert_string_equal(t.name, "a=b");
	assert_true(t.loud);
	assert_true(t.idle);
	assert_int_equal(t.count, 5);
	assert_int_equal(t.memory, 3 << 20);
	assert_int_equal(operands.len, 3);
	assert_string_equal(operands.data[0], "file");
	assert_string_equal(operands.data[2], "-x");
	vec_fini(&operands);
	fini(&t);
}

static void the_value_of_a_choice_may_be_optional(void **state)
{
	struct operands operands = { 0 };
	struct toy t;

	assert_int_equal(parse(&t, 0, "--pace=fast --mode full", &operands, NULL), 0);
	assert_int_equal(t.pace, 1);
	assert_int_equal(t.mode, 0);
	/* what follows is an operand, and the first choice is implied */
	assert_int_equal(parse(&t, 0, "--pace fast", &operands, NULL), 0);
	assert_int_equal(t.pace, 0);
	assert_int_equal(operands.len, 1);
	assert_int_equal(parse(&t, 0, "--pace=odd", &operands, NULL), -EINVAL);
	vec_fini(&operands);
	fini(&t);
}

static void the_first_operand_may_end_the_options(void **state)
{
	struct operands operands = { 0 };
	struct toy t;

	assert_int_equal(parse(&t, ARGUMENTS_STOP_AT_OPERAND, "-l make -F 5", &operands, NULL), 0);
	assert_true(t.loud);
	assert_int_equal(t.freq, 0);
	assert_int_equal(operands.len, 3);
	assert_string_equal(operands.data[1], "-F");
	vec_fini(&operands);
}

static void errors_name_the_argument(void **state)
{
	static const char *const bad[][2] = {
		{ "--nosuch", "unknown option --nosuch (--help lists the options)" },
		{ "-x", "unknown option -x (--help lists the options)" },
		{ "-lx", "unknown option -lx (--help lists the options)" },
		{ "--lo=3", "--loud does not accept a value" },
		{ "--m 3", "--m is ambiguous: --memory or --mode" },
		{ "word", "unexpected argument \"word\"" },
		{ "-", "unexpected argument \"-\"" },
		{ "-- word", "unexpected argument \"word\"" },
		{ "--freq", "--freq requires a value: HZ" },
		{ "-F x", "-F \"x\": expected a number of samples per second between 1 and 10000" },
		{ "--idle=x", "--idle \"x\": expected yes or no" },
	};
	struct toy t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(parse(&t, ARGUMENTS_NO_OPERANDS, bad[i][0], NULL, &err), -EINVAL);
		assert_string_equal(err.msg, bad[i][1]);
		fini(&t);
	}
}

static void help_takes_precedence_over_what_follows(void **state)
{
	struct toy t;

	assert_int_equal(parse(&t, ARGUMENTS_NO_OPERANDS, "--help --nosuch", NULL, NULL),
			 ARGUMENTS_HELP);
	assert_int_equal(parse(&t, ARGUMENTS_NO_OPERANDS, "-lh", NULL, NULL), ARGUMENTS_HELP);
}

TEST_GROUP(test_arguments, TEST(all_spellings_are_read),
	   TEST(the_value_of_a_choice_may_be_optional), TEST(the_first_operand_may_end_the_options),
	   TEST(errors_name_the_argument), TEST(help_takes_precedence_over_what_follows))
