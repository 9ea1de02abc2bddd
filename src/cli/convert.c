/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo convert IN... OUT`: writes profiles in another format. The output is opened before the
 * input is converted and committed at the end, so a failure leaves an existing file untouched
 * (base/outfile.h). Properties that the format cannot hold are reported on standard error; that is
 * not a failure.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/sources.h"
#include "codec/format.h"
#include "profile/profile.h"

/* The values of the table below; NULL: not given. */
struct convert_args {
	char *to, *title;
	bool quiet;
};

#define OPTION_VALUES struct convert_args

static const struct option_spec options[] = {
	OPTION_SECTION("Output"),
	OPTION(TEXT, 0, "to", "FORMAT", to, "Write this format regardless of the suffix of OUT",
	       .list = format_writable_ids),
	OPTION(TEXT, 0, "title", "TEXT", title, "Set the title (in formats that have one)"),
	OPTION(FLAG, 'q', "quiet", NULL, quiet,
	       "Do not warn about what the output format cannot represent"),
	{ 0 },
};

/* One line, whatever was lost: conversions are often run in scripts. */
static void warn_losses(const struct format *to, const struct profile *p)
{
	_cleanup_(buf_fini) struct buf list = { 0 };

	format_losses(to, p, &list);
	if (list.len && buf_error(&list) == 0)
		fprintf(stderr, "cameo: %s cannot represent: %.*s\n", format_id(to), (int)list.len,
			(const char *)list.data);
}

/* The last operand is the output; all others are merged. */
static int convert(const struct sources *in, const struct convert_args *a, const struct format *to,
		   const char *path, struct err *err)
{
	struct format_options opt = { .title = a->title, .root_label = "comm" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r = sources_read(in, 0, in->paths.len - 1, NULL, &p, &opt.value_num, err);

	if (r < 0)
		return r;
	if (!opt.title)
		opt.title = sources_title(in);
	r = outfile_open(&out, path, err);
	if (r == 0)
		r = format_write(to, p, &opt, &data, err);
	if (r == 0)
		r = outfile_commit(out, data.data, data.len, err);
	if (r == 0 && !a->quiet)
		warn_losses(to, p);
	/* a reader of standard output that closed the pipe has all that it needs */
	return r == -EPIPE ? 0 : r;
}

/* The operands and the format are checked before a possibly large input is read. */
static int check_and_convert(const struct sources *in, const struct convert_args *a)
{
	const struct format *to;
	struct err err = { 0 };
	const char *path;

	if (in->paths.len < 2)
		return cli_fail_usage("expected at least one input and an output file");
	path = in->paths.data[in->paths.len - 1];
	if (cli_output_format(path, "--to", a->to, NULL, &to, &err) < 0)
		return cli_fail_usage("%s", err.msg);
	return convert(in, a, to, path, &err) < 0 ? cli_fail("%s", err.msg) : 0;
}

static int run_command(int argc, char **argv)
{
	struct convert_args a = { 0 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&convert_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = check_and_convert(&in, &a);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command convert_command = {
	.name = "convert",
	.summary = "convert profiles to another format",
	.synopsis = "[OPTION...] IN... OUT",
	.description =
		"Convert profiles to another format. The suffix of OUT selects the format. Several "
		"inputs are merged into one profile. \"-\" is standard input or output.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Open a pprof profile in speedscope",
		  "cameo convert cpu.pb.gz cpu.speedscope.json" },
		{ "Turn the output of perf into a flame graph page",
		  "perf script | cameo convert - perf.html" },
		{ "Merge two profiles", "cameo convert monday.pb.gz tuesday.pb.gz both.folded" }),
	.run = run_command,
};
