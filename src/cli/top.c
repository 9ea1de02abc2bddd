/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo top`: shows where CPU time is being spent, as a full-screen display on a terminal and as
 * printed tables otherwise. Sampling and display share one thread; see top_source.h and
 * top_screen.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/text.h"
#include "cli/top_rows.h"
#include "cli/top_screen.h"
#include "cli/top_source.h"
#include "cli/url.h"
#include "options/arguments.h"
#include "profile/profile.h"

/* --iterations and --limit apply to printed tables only: 0 means no limit. */
struct top_args {
	struct pid_list pids;
	uint64_t freq_hz, interval_ns, iterations, limit;
	struct row_key by;
};

#define OPTION_VALUES struct top_args

static const struct option_spec options[] = {
	OPTION_SECTION("What to profile"),
	OPTION(CUSTOM, 'p', "pid", "PID,...", pids, "Profile these processes and their descendants",
	       .parse = args_parse_pids),
	OPTION(CUSTOM, 'F', "freq", "HZ", freq_hz, "Take this many samples per second on each CPU",
	       .preset = "99", .parse = args_parse_frequency),
	OPTION(DURATION, 'i', "interval", "TIME", interval_ns, "Update the table at this interval",
	       .preset = "2s", .unit = "s", .min = 1000000000, .max = 3600000000000),

	OPTION_SECTION("Output"),
	OPTION(CUSTOM, 0, "by", "KEY", by, "Show one row for each " ARGS_BY_LIST,
	       .preset = "function", .parse = args_parse_by),
	OPTION(NUMBER, 'n', "iterations", "N", iterations,
	       "Without a terminal, exit after printing N tables", .min = 1, .max = UINT32_MAX),
	OPTION(NUMBER, 'l', "limit", "N", limit,
	       "Without a terminal, print at most N rows of each table", .preset = "20"),
	{ 0 },
};

/*
 * The format is that of the screen, so that output which is piped into a file shows the same
 * columns.
 */
static int print_table(const struct top_view *view, uint64_t limit, const struct profile *p,
		       struct buf *line)
{
	struct top_rows rows = { 0 };
	char value[TEXT_VALUE_LEN];
	int r = top_rows_make(&rows, p, view);

	if (r == 0)
		printf("%s  %s\n", top_by_label(view->by), text_value(rows.sum, rows.unit, value));
	for (size_t i = 0; r == 0 && i < rows.rows.len && i < limit; i++) {
		top_rows_format(&rows, &rows.rows.data[i], line);
		if (!buf_error(line))
			puts((const char *)line->data);
	}
	if (r == 0 && (putchar('\n') == EOF || fflush(stdout) == EOF))
		r = -errno;
	top_rows_fini(&rows);
	return r;
}

/* A closed pipe ends the output and is not an error. */
static int print_tables(const struct top_args *a, const struct top_view *view, struct top_source *s,
			struct err *err)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	uint64_t n = 0;
	int r = 0;

	while (r == 0 && (!a->iterations || n < a->iterations)) {
		_cleanup_(profile_freep) struct profile *p = NULL;

		top_source_set_label(s, input_label(view->by, view->key));
		r = top_source_wait(s, &p, err);
		if (r < 0)
			return r;
		if (r == 0) /* interrupted by a signal */
			continue;
		n++;
		r = print_table(view, a->limit, p, &line);
	}
	return r == -EPIPE ? 0 : r;
}

/* The full-screen display needs a terminal for the keys as well as for the output. */
static int top(const struct top_args *a, const char *url, struct err *err)
{
	bool screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	const struct top_view view = { .by = a->by.by, .key = a->by.label };
	const char *title = url ? url : a->pids.len ? "selected processes" : "this machine";
	const struct top_source_opts opts = {
		.url = url,
		.pids = a->pids.data,
		.n_pids = a->pids.len,
		.freq_hz = (uint32_t)a->freq_hz,
		.interval_ms = (uint32_t)(a->interval_ns / 1000000),
		.wake_fd = screen ? STDIN_FILENO : -1,
	};
	_cleanup_(top_source_freep) struct top_source *s = NULL;
	int r = top_source_open(&s, &opts, err);

	if (r < 0)
		return r;
	return screen ? top_screen_run(s, &view, title, err) : print_tables(a, &view, s, err);
}

/* Checks combinations of operands and options, which the option table cannot express. */
static int check_and_run(const struct top_args *a, const struct operands *urls)
{
	const char *url = urls->len ? urls->data[0] : NULL;
	struct err err = { 0 };
	int r;

	if (urls->len > 1)
		return cli_fail_usage("expected at most one URL, not %zu", urls->len);
	if (url && !url_is(url))
		return cli_fail_usage("unexpected argument \"%.60s\": expected the URL of a "
				      "server, such as http://HOST:4040",
				      url);
	if (url && a->pids.len)
		return cli_fail_usage("--pid and a URL cannot be used together");
	r = top(a, url, &err);
	return r < 0 ? cli_fail("%s", err.msg[0] ? err.msg : strerror(-r)) : 0;
}

static int run_command(int argc, char **argv)
{
	struct top_args a = { 0 };
	const struct option_set sets[] = { { options, &a }, { 0 } };
	struct operands urls = { 0 };
	int r = cli_parse(&top_command, sets, 0, argc, argv, &urls);

	if (r == CLI_CONTINUE)
		r = check_and_run(&a, &urls);
	vec_fini(&a.pids);
	cli_fini(sets, &urls);
	return r;
}

const struct command top_command = {
	.name = "top",
	.summary = "show live where CPU time is spent",
	.synopsis = "[OPTION...] [URL]",
	.description = "Show live where CPU time is spent on this machine, in some processes, or, "
		       "with a URL, on the machines whose profiles a Cameo or Pyroscope server "
		       "stores. On a terminal, the bottom line of the screen lists the keys. If "
		       "standard output is not a terminal, tables are printed one after the other.",
	.options = COMMAND_OPTIONS(options),
	.examples = COMMAND_EXAMPLES(
		{ "Watch this machine", "cameo top" },
		{ "Watch the profiles that a server receives, without sampling this machine again",
		  "cameo top http://127.0.0.1:4040" },
		{ "Print one table of the threads of a process",
		  "cameo top -p 1234 -n 1 --by thread | cat" }),
	.run = run_command,
};
