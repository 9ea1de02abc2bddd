/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo ci -- COMMAND`: records a test or benchmark, compares it with a base profile, and writes
 * Markdown for a pull request; growth determines the exit status.
 *
 * The order matters: outputs are opened and the base is read before the recording, so that a wrong
 * path or an unreachable server fails before a long test runs, and because a recording gives up the
 * privileges and the network that these need. So --base and --save may be the same file.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/args.h"
#include "cli/ci_report.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/comparison.h"
#include "cli/debug_files.h"
#include "cli/recording.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "cli/url.h"
#include "codec/format.h"
#include "options/arguments.h"
#include "profile/profile.h"
#include "symbol/demangle.h"

struct ci_args {
	char *base, *profile, *save;
	bool optional_base;
	uint64_t freq_hz;
	char *output, *page, *link, *title;
	uint64_t limit;
	bool normalize;
	double fail_above; /* percent; negative: not given */
};

#define OPTION_VALUES struct ci_args

static const struct option_spec options[] = {
	OPTION_SECTION("What to compare"),
	OPTION(TEXT, 'b', "base", "FILE|URL", base,
	       "Compare with this profile: a file that --save wrote, or a query of a server",
	       .details = "A query of a Cameo or Pyroscope server is a URL as cameo-report(1) "
			  "accepts it. $CAMEO_TOKEN is sent as a bearer token.\n\nThe base is read "
			  "before the command starts."),
	OPTION(FLAG, 0, "optional-base", NULL, optional_base,
	       "Compare with nothing, and succeed, if the base profile does not exist yet"),
	OPTION(TEXT, 0, "profile", "FILE", profile,
	       "Compare this profile, instead of recording a command"),
	OPTION(CUSTOM, 'F', "freq", "HZ", freq_hz, "Take this many samples per second on each CPU",
	       .preset = "499", .flags = OPTION_LAZY_PRESET, .parse = args_parse_frequency),
	OPTION(FLAG, 0, "normalize", NULL, normalize,
	       "Compare shares of the total instead of values, for tests that run for different "
	       "times"),
	COMPARISON_FAIL_ABOVE,

	OPTION_SECTION("Output"),
	OPTION(TEXT, 's', "save", "FILE", save,
	       "Write the recorded profile to FILE; the suffix selects the format",
	       .preset = "cameo.pb.gz", .list = format_suffixes),
	OPTION(TEXT, 'o', "output", "FILE", output,
	       "Write the Markdown to FILE, or to standard output (-)", .preset = "-"),
	OPTION(TEXT, 0, "html", "FILE.html", page,
	       "Write a page with the flame graph, of the difference if there is a base"),
	OPTION(TEXT, 0, "link", "URL", link, "Link this address as the flame graph"),
	OPTION(TEXT, 0, "title", "TEXT", title, "Begin the Markdown with this heading",
	       .preset = "Profile"),
	OPTION(NUMBER, 'l', "limit", "N", limit, "Print at most N functions in each table",
	       .preset = "10", .min = 1, .max = 100),
	{ 0 },
};

enum { DEFAULT_FREQ_HZ = 499 };

/* One run. The paths of @in are the base and the profile, by side. */
struct run {
	const struct ci_args *a;
	struct sources in;
	char **command; /* ends with NULL; NULL: none */
	struct outfile *page, *markdown;
	const struct format *format; /* of --save */
	struct comparison v;
	int status; /* exit status of the command */
};

static void run_fini(struct run *run)
{
	vec_fini(&run->in.paths);
	comparison_fini(&run->v);
	outfile_free(run->page);
	outfile_free(run->markdown);
}

/* Returns true if @url may stand in <...> of a Markdown link. */
static bool is_link(const char *url)
{
	for (const char *c = url; *c; c++)
		if (iscntrl((unsigned char)*c) || strchr(" <>()", *c))
			return false;
	return url_is(url);
}

static int check_options(const struct ci_args *a, char **command, struct run *run, struct err *err)
{
	int r;

	if (!command == !a->profile)
		return err_set(err, -EINVAL, "expected either a command or --profile FILE");
	if (!a->base && (a->fail_above >= 0 || a->normalize || a->optional_base))
		return err_set(err, -EINVAL,
			       "--fail-above, --normalize and --optional-base require --base");
	if (a->link && !is_link(a->link))
		return err_set(err, -EINVAL, "--link \"%.60s\": expected an http or https URL",
			       a->link);
	if (a->profile)
		return 0;
	r = cli_output_format(a->save, "--save", NULL, NULL, &run->format, err);
	if (r == 0 && !format_can_read(run->format))
		r = err_set(err, -EINVAL,
			    "--save \"%.60s\": this format cannot be read again: use .pb.gz",
			    a->save);
	return r;
}

static int open_outputs(struct run *run, struct err *err)
{
	int r = outfile_open(&run->markdown, run->a->output, err);

	if (r == 0 && run->a->page)
		r = outfile_open(&run->page, run->a->page, err);
	return r;
}

/* A base does not exist if there is no such file, or if its query has no samples. */
static bool is_missing(const char *base, int r)
{
	struct stat st;

	if (url_is(base))
		return r == -ENODATA;
	return stat(base, &st) < 0 && errno == ENOENT;
}

static int read_base(struct run *run, struct err *err)
{
	const struct ci_args *a = run->a;
	struct err why = { 0 };
	int r;

	if (!a->base)
		return 0;
	r = comparison_read(&run->v, &run->in, CHANGE_BEFORE, &why);
	if (r < 0 && a->optional_base && is_missing(a->base, r))
		return 0;
	if (r < 0)
		return err_set(err, r, "%s", why.msg);
	return profile_n_samples(run->v.p[CHANGE_BEFORE])
		       ? 0
		       : err_set(err, -ENODATA, "the base profile \"%.100s\" has no samples",
				 a->base);
}

/* The command's own status is not an error. */
static int record(struct run *run, struct err *err)
{
	const struct ci_args *a = run->a;
	const char *const outputs[] = { a->output, a->page, NULL };
	char cache[PATH_MAX];
	struct recording_opts o = {
		.command = run->command,
		.freq_hz = a->freq_hz ? (uint32_t)a->freq_hz : DEFAULT_FREQ_HZ,
		.symbolizer.demangle = DEMANGLE_FULL,
		.path = a->save,
		.format = run->format,
		.more_outputs = outputs,
	};
	int r;

	debug_files_configure(&o.symbolizer, NULL, cache, sizeof(cache));
	r = recording_run(&o, &run->status, err);
	return r < 0 ? err_set(err, r, "cannot record: %s", strerror(-r)) : err->code;
}

/* --from is the format of the given files; the recorded file has the suffix of its own. */
static int read_profile(struct run *run, struct err *err)
{
	int r;

	if (run->command)
		run->in.from = NULL;
	r = comparison_read(&run->v, &run->in, CHANGE_AFTER, err);
	if (r == 0 && !profile_n_samples(run->v.p[CHANGE_AFTER]))
		r = err_set(err, -ENODATA,
			    "\"%.100s\" has no samples: let the command run longer, or use a "
			    "higher --freq",
			    run->in.paths.data[CHANGE_AFTER]);
	if (r == 0 && run->v.p[CHANGE_BEFORE])
		r = comparison_build(&run->v, err);
	return r;
}

/* The page of a run without a base is that of its profile alone. */
static int write_page(struct run *run, struct err *err)
{
	const struct format_options opt = { .title = run->a->title,
					    .value_num = run->v.value_num[CHANGE_AFTER],
					    .root_label = "comm" };
	_cleanup_(buf_fini) struct buf page = { 0 };
	int r = run->v.p[CHANGE_BEFORE] ? comparison_put_page(&run->v, &run->in, &page, err)
					: format_write(format_by_id("html"), run->v.p[CHANGE_AFTER],
						       &opt, &page, err);

	return r < 0 ? r : outfile_commit(run->page, page.data, page.len, err);
}

static int write_report(struct run *run, struct err *err)
{
	const struct ci_args *a = run->a;
	const struct ci_report report = {
		.title = a->title,
		.command = (const char *const *)run->command,
		.status = run->status,
		.base = a->base,
		.page = a->page,
		.link = a->link,
		.limit = a->limit,
	};
	_cleanup_(buf_fini) struct buf text = { .max = TEXT_OUTPUT_MAX };
	int r = a->page ? write_page(run, err) : 0;

	if (r == 0)
		r = ci_report_put(&report, &run->v, &text, err);
	return r < 0 ? r : outfile_commit(run->markdown, text.data, text.len, err);
}

/* A failed command has its own exit status even if its profile cannot be compared. */
static int ci(struct run *run)
{
	char growth[COMPARISON_GROWTH_LEN];
	struct err err = { 0 };
	int r = open_outputs(run, &err);

	if (r == 0)
		r = read_base(run, &err);
	if (r == 0 && run->command)
		r = record(run, &err);
	if (r == 0)
		r = read_profile(run, &err);
	if (r == 0)
		r = write_report(run, &err);
	if (r < 0)
		cli_fail("%s", err.msg[0] ? err.msg : strerror(-r));
	else if (run->v.changes && comparison_grew(&run->v, growth))
		r = cli_fail("%s", growth);
	return run->status ? run->status : r ? EXIT_FAILURE : 0;
}

static int run_command(int argc, char **argv)
{
	struct ci_args a = { .fail_above = -1 };
	_cleanup_(run_fini) struct run run = { .a = &a };
	const struct option_set sets[] = { { options, &a }, { sources_options, &run.in }, { 0 } };
	struct operands command = { 0 };
	struct err err = { 0 };
	int r = cli_parse(&ci_command, sets, ARGUMENTS_STOP_AT_OPERAND, argc, argv, &command);

	if (r == CLI_CONTINUE) {
		/* execvp() needs a NULL after the last argument; argv ends with one. */
		run.command = command.len ? argv + argc - command.len : NULL;
		run.v = (struct comparison){ .normalize = a.normalize, .fail_above = a.fail_above };
		r = check_options(&a, run.command, &run, &err);
		if (r == 0 && (vec_push(&run.in.paths, a.base) < 0 ||
			       vec_push(&run.in.paths, a.profile ? a.profile : a.save) < 0))
			r = err_set(&err, -ENOMEM, "out of memory");
		r = r < 0 ? cli_fail_usage("%s", err.msg) : ci(&run);
	}
	cli_fini(sets, &command);
	return r;
}

const struct command ci_command = {
	.name = "ci",
	.summary = "record a test, compare it with a base profile and report in Markdown",
	.synopsis = "[OPTION...] [--] COMMAND [ARG...]\n[OPTION...] --profile FILE",
	.description =
		"Record a test or benchmark, compare its profile with that of the base branch, and "
		"print the functions that grew or shrank as Markdown, for a pull request or the "
		"summary of a job. Changes that chance alone explains are omitted from the tables "
		"(noise: less than three standard deviations).\n\nThe exit status is the "
		"command's. If that is 0, it is 1 if --fail-above is exceeded.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Record the base, then compare a change with it",
		  "cameo ci --save base.pb.gz -- make" },
		{ "Fail if a function became much slower, and write a flame graph of the "
		  "difference",
		  "cameo ci -b base.pb.gz --fail-above 5% --html diff.html -o ci.md -- make" },
		{ "Compare with the profiles of a server",
		  "cameo ci --base 'http://127.0.0.1:4040?query={service_name=\"shop\"}' -- make" },
		{ "Compare two profiles that were recorded before",
		  "cameo ci --base base.pb.gz --profile cameo.pb.gz" }),
	.run = run_command,
};
