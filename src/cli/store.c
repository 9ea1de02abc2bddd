/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo store`: maintenance of the directory of `cameo server --data`. Each operation prints one
 * line per file as soon as the file is done, so that a long run shows its progress; the work itself
 * is in store/kinds/store_directory.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/store_info.h"
#include "cli/url.h"
#include "options/arguments.h"
#include "query/selector.h"
#include "store/kinds/store_directory.h"
#include "store/store.h"

/*
 * A time in ns since 1970. It has a member for a missing option, because 0 is a valid
 * time and delete requires at least one restriction.
 */
struct time_arg {
	int64_t ns;
	bool given;
};

struct store_args {
	char *tenant, *selector;
	struct time_arg from, until;
};

/* Times before 1970 and those that do not fit in ns are refused, so later code need not check. */
static int parse_time(void *field, const char *text, struct err *why)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (url_parse_time(text, (int64_t)now.tv_sec * 1000, &ms) < 0 || ms < 0 ||
	    ms > INT64_MAX / CLOCK_MS_NS)
		return err_set(why, -EINVAL,
			       "expected a time such as now-1h, 2026-11-21T08:00:00Z, or seconds "
			       "since 1970");
	*(struct time_arg *)field = (struct time_arg){ ms * CLOCK_MS_NS, true };
	return 0;
}

#define OPTION_VALUES struct store_args

static const struct option_spec options[] = {
	OPTION_SECTION("Options of delete"),
	OPTION(TEXT, 't', "tenant", "NAME", tenant,
	       "Delete profiles of this tenant (of a server without --tenants: anonymous)"),
	OPTION(TEXT, 's', "selector", "{LABEL=\"VALUE\",...}", selector,
	       "Delete only profiles whose labels match",
	       .details = "The selector is that of queries. A profile is deleted if all of its "
			  "sample types match."),
	OPTION(CUSTOM, 0, "from", "TIME", from, "Delete profiles from this time on",
	       .parse = parse_time,
	       .details = "A time is now-90m, 2026-11-21T08:00:00Z, or seconds since 1970."),
	OPTION(CUSTOM, 0, "until", "TIME", until, "Delete profiles before this time",
	       .parse = parse_time),
	{ 0 },
};

/* ---- check -------------------------------------------------------------------------- */

/* A damaged file does not end the check: the list should be complete. */
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

/* ---- compact, backup, restore ------------------------------------------------------- */

/* Converts the result of an operation to an exit status, after printing the reason of a failure. */
static int finish(int r, const struct err *err)
{
	return r < 0 ? cli_fail("%s", err->msg[0] ? err->msg : strerror(-r)) : 0;
}

static int print_compacted(void *ctx, const struct store_file *f)
{
	printf("%s: %" PRIu64 " profiles, %.1f KiB, before %.1f KiB\n", f->path, f->n_windows,
	       (double)f->bytes / 1024, (double)f->old_bytes / 1024);
	return 0;
}

static int compact(const struct store_args *a, const char *const *operands)
{
	struct err err = { 0 };

	return finish(store_directory_compact(operands[0], print_compacted, NULL, &err), &err);
}

static int print_copied(void *ctx, const struct store_file *f)
{
	printf("%s: %" PRIu64 " profiles, %.1f KiB\n", f->path, f->n_windows,
	       (double)f->bytes / 1024);
	return 0;
}

/*
 * backup and restore differ only in the direction: DIR is always the first operand, so that a
 * command line can be changed from one to the other without overwriting the source.
 */
static int backup(const struct store_args *a, const char *const *operands)
{
	struct err err = { 0 };

	return finish(store_directory_copy(operands[0], operands[1], print_copied, NULL, &err),
		      &err);
}

static int restore(const struct store_args *a, const char *const *operands)
{
	struct err err = { 0 };

	return finish(store_directory_copy(operands[1], operands[0], print_copied, NULL, &err),
		      &err);
}

/* ---- delete ------------------------------------------------------------------------- */

/* @ctx is the number of deleted profiles so far. */
static int print_deleted(void *ctx, const struct store_file *f)
{
	uint64_t *total = ctx;

	*total += f->n_deleted;
	printf("%s: deleted %" PRIu64 " profiles, %" PRIu64 " remain\n", f->path, f->n_deleted,
	       f->n_windows);
	return 0;
}

/* A command line that selects everything by omission is refused. */
static int delete_profiles(const struct store_args *a, const char *const *operands)
{
	_cleanup_(selector_fini) struct selector selector = { 0 };
	const char *text = a->selector ? a->selector : "{}";
	struct store_deletion del = { .tenant = a->tenant,
				      .selector = text,
				      .start_ns = a->from.ns,
				      .end_ns = a->until.given ? a->until.ns : INT64_MAX };
	struct err err = { 0 };
	uint64_t total = 0;
	int r;

	if (!a->tenant || (!a->selector && !a->from.given && !a->until.given))
		return cli_fail_usage(
			"delete requires --tenant and one of --selector, --from and --until");
	if (!store_tenant_valid(a->tenant))
		return cli_fail_usage("--tenant \"%s\": not a name of a tenant", a->tenant);
	if (selector_parse(&selector, text, strlen(text), &err) < 0)
		return cli_fail_usage("--selector \"%s\": %s", text, err.msg);
	del.matchers = selector.data;
	del.n_matchers = selector.len;
	r = store_directory_delete(operands[0], &del, print_deleted, &total, &err);
	if (r < 0)
		return finish(r, &err);
	printf("%" PRIu64 " profiles deleted\n", total);
	return 0;
}

static int info(const struct store_args *a, const char *const *operands)
{
	return store_info_print(operands[0], NULL);
}

/* ---- the command -------------------------------------------------------------------- */

/* All operations share one option table, but only delete accepts its options: store() checks. */
static const struct operation {
	const char *name;
	size_t n_operands; /* after the name */
	int (*run)(const struct store_args *a, const char *const *operands);
} operations[] = {
	{ "backup", 2, backup },          { "check", 1, check }, { "compact", 1, compact },
	{ "delete", 1, delete_profiles }, { "info", 1, info },   { "restore", 2, restore },
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
		if (o->run != delete_profiles &&
		    (a->tenant || a->selector || a->from.given || a->until.given))
			return cli_fail_usage("%s accepts no options", name);
		return o->run(a, (const char *const *)operands->data + 1);
	}
	return cli_fail_usage(
		"expected backup, check, compact, delete, info or restore, and a directory");
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
	.summary = "check, back up and change the files of a server",
	.synopsis = "backup DIR BACKUP\ncheck DIR\ncompact DIR\n"
		    "delete DIR --tenant NAME [--selector SELECTOR] [--from TIME] [--until TIME]\n"
		    "info DIR\nrestore DIR BACKUP",
	.description =
		"Maintain DIR, the directory of \"cameo server --data DIR\". \"backup\", \"check\" "
		"and \"info\" work while the server runs; the others require that it is stopped. "
		"Each prints one line per file.\n\n"
		"\"backup\" copies the store to the directory BACKUP, and \"restore\" copies "
		"BACKUP to "
		"DIR. The target must be missing or empty. Each copy is checked completely; "
		"nothing "
		"is copied if a file is damaged or lost. A backup is a store: the other operations "
		"and the server can use it.\n\n"
		"\"check\" reads all files, compares checksums, numbers and totals, and fails if a "
		"file "
		"is damaged or lost.\n\n"
		"\"compact\" writes each file again, which frees unused space and converts files "
		"of "
		"older versions. It needs free space of the size of the largest file.\n\n"
		"\"delete\" removes the profiles of a tenant that a selector and a range of time "
		"select, and records that in DIR/TENANT/deletions. Names of functions and labels "
		"stay until their day is removed. A day that is deleted as a whole is not read, so "
		"its file may be damaged or lost.\n\n"
		"\"info\" prints the disk space that each day and tenant uses. A series that "
		"occurs "
		"on several days counts once for each day in the last line.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Look for damaged files", "cameo store check data" },
		{ "Copy the store of a running server", "cameo store backup data /backup/monday" },
		{ "Delete the last hour of a service", "cameo store delete data -t anonymous -s "
						       "'{service_name=\"shop\"}' --from now-1h" }),
	.run = run_command,
};
