/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo store`: maintenance of the directory of `cameo server --data`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/store_info.h"
#include "options/arguments.h"
#include "store/kinds/store_directory.h"

struct store_args {
	char *tenant;
};

#define OPTION_VALUES struct store_args

static const struct option_spec options[] = {
	{ 0 },
};

/* ---- check -------------------------------------------------------------------------- */

static int print_checked(void *ctx, const struct store_file *f)
{
	if (f->damage)
		printf("%s: damaged: %s\n", f->path, f->damage);
	else
		printf("%s: ok, %" PRIu64 " profiles\n", f->path, f->n_windows);
	return 0;
}

/* -EUCLEAN comes without a reason: the files have been listed. */
static int check(const struct store_args *a, const char *const *operands)
{
	struct err err = { 0 };
	int r = store_directory_check(operands[0], print_checked, NULL, &err);

	if (r < 0 && err.msg[0])
		cli_fail("%s", err.msg);
	return r < 0;
}

static int info(const struct store_args *a, const char *const *operands)
{
	return store_info_print(operands[0], NULL);
}

/* ---- the command -------------------------------------------------------------------- */

static const struct operation {
	const char *name;
	size_t n_operands; /* behind the name */
	int (*run)(const struct store_args *a, const char *const *operands);
} operations[] = {
	{ "check", 1, check },
	{ "info", 1, info },
};

static int store(const struct store_args *a, const struct operands *operands)
{
	const char *name = operands->len ? operands->data[0] : "";

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const struct operation *o = &operations[i];

		if (strcmp(o->name, name) != 0)
			continue;
		if (operands->len != o->n_operands + 1)
			return cli_fail_usage("%s: expected %s", name,
					      o->n_operands == 1 ? "one directory"
								 : "two directories");
		return o->run(a, (const char *const *)operands->data + 1);
	}
	return cli_fail_usage("expected an operation: check or info");
}

static int run_command(int argc, char **argv)
{
	struct store_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands operands = { 0 };
	int r = cli_parse(&store_command, sets, 0, argc, argv, &operands);

	if (r == CLI_CONTINUE)
		r = store(&a, &operands);
	cli_fini(sets, &operands);
	return r;
}

const struct command store_command = {
	.name = "store",
	.summary = "check the files of a server's directory",
	.synopsis = "check DIR\ninfo DIR",
	.description = "Maintain DIR, the directory of \"cameo server --data DIR\".\n\n"
		       "\"check\" reads all files, compares checksums, numbers and totals, and "
		       "prints one line for each file. Its exit status is 1 if a file is damaged "
		       "or lost.\n\n"
		       "\"info\" prints the disk space that each day and tenant uses. A series "
		       "that occurs "
		       "on several days counts once for each day in the last line.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES({ "Look for damaged files", "cameo store check data" }),
	.run = run_command,
};
