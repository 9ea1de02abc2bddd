/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo top`: what takes the time now; a screen on a terminal, rows elsewhere. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/text.h"
#include "cli/top_rows.h"
#include "cli/top_screen.h"
#include "cli/top_source.h"
#include "cli/url.h"
#include "profile/profile.h"

enum { OPT_BY = 256 };
enum { DEFAULT_FREQ_HZ = 99, DEFAULT_INTERVAL_S = 2, DEFAULT_ROWS = 20 };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID,...", 0, "Only these processes and the children they start", 0 },
	{ "freq", 'F', "HZ", 0, "Samples a second and CPU (default 99)", 0 },
	{ "interval", 'i', "SECONDS", 0, "How long each table is sampled (default 2)", 0 },
	{ "iterations", 'n', "N", 0, "End after so many tables (without a terminal)", 0 },
	{ "by", OPT_BY, "WHAT", 0,
	  "Rows to begin with: function (the default), binary, file, line, column, language, "
	  "process, thread, or label:KEY",
	  0 },
	{ "limit", 'l', "N", 0, "Without a terminal: rows of a table (default 20)", 0 },
	{ 0 },
};

struct args {
	struct pid_list pids;
	uint64_t freq_hz, interval_s, iterations, limit;
	struct top_view view;
	const char *url;
	struct err err;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'p':
		args_pids(arg, &a->pids, &a->err);
		break;
	case 'F':
		args_number("freq", arg, 1, 10000, &a->freq_hz, &a->err);
		break;
	case 'i':
		args_number("interval", arg, 1, 3600, &a->interval_s, &a->err);
		break;
	case 'n':
		args_number("iterations", arg, 1, UINT32_MAX, &a->iterations, &a->err);
		break;
	case 'l':
		args_limit(arg, &a->limit, &a->err);
		break;
	case OPT_BY:
		args_by(arg, &a->view.by, &a->view.key, &a->err);
		break;
	case ARGP_KEY_ARG:
		if (a->url || !url_is(arg))
			err_set(&a->err, -EINVAL, "only one server's URL is taken, not %.60s", arg);
		a->url = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int print_table(const struct args *a, const struct profile *p, struct buf *line)
{
	struct top_rows rows = { 0 };
	char value[TEXT_VALUE_LEN];
	int r = top_rows_make(&rows, p, &a->view);

	if (r == 0)
		printf("%s  %s\n", top_by_label(a->view.by),
		       text_value(rows.sum, rows.unit, value));
	for (size_t i = 0; r == 0 && i < rows.rows.len && i < a->limit; i++) {
		top_rows_format(&rows, &rows.rows.data[i], line);
		if (!buf_error(line))
			puts((const char *)line->data);
	}
	if (r == 0 && (putchar('\n') == EOF || fflush(stdout) == EOF))
		r = -errno;
	top_rows_fini(&rows);
	return r;
}

/* A reader that has gone away is no error. */
static int print_tables(const struct args *a, struct top_source *s, struct err *err)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	uint64_t n = 0;
	int r = 0;

	while (r == 0 && (!a->iterations || n < a->iterations)) {
		_cleanup_(profile_freep) struct profile *p = NULL;

		top_source_set_label(s, input_label(a->view.by, a->view.key));
		r = top_source_wait(s, &p, err);
		if (r < 0)
			return r;
		if (r == 0) /* a signal */
			continue;
		n++;
		r = print_table(a, p, &line);
	}
	return r == -EPIPE ? 0 : r;
}

static int top(const struct args *a, struct err *err)
{
	bool screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	const struct top_source_opts opts = {
		.url = a->url,
		.pids = a->pids.data,
		.n_pids = a->pids.len,
		.freq_hz = (uint32_t)a->freq_hz,
		.interval_ms = (uint32_t)a->interval_s * 1000,
		.wake_fd = screen ? STDIN_FILENO : -1,
	};
	_cleanup_(top_source_freep) struct top_source *s = NULL;
	int r = top_source_open(&s, &opts, err);

	if (r < 0)
		return r;
	if (!screen)
		return print_tables(a, s, err);
	return top_screen_run(s, &a->view,
			      a->url        ? a->url
			      : a->pids.len ? "chosen processes"
					    : "this machine",
			      err);
}

int cli_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[URL]",
		.doc = "Show what takes the time now: of this machine, of some processes, or of a "
		       "server that has it (nothing is sampled twice then). On a terminal keys "
		       "choose what is shown; elsewhere tables are printed.\v"
		       "Examples:\n"
		       "  cameo top\n"
		       "  cameo top http://127.0.0.1:4040\n"
		       "  cameo top -p 1234 -n 1 --by thread | cat\n",
	};
	struct args a = {
		.freq_hz = DEFAULT_FREQ_HZ,
		.interval_s = DEFAULT_INTERVAL_S,
		.limit = DEFAULT_ROWS,
	};
	int status = 0, r;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (!a.err.code && a.url && a.pids.len)
		err_set(&a.err, -EINVAL, "only one of -p and a URL");
	if (a.err.code) {
		cli_fail("%s", a.err.msg);
		status = EXIT_USAGE;
	} else {
		r = top(&a, &a.err);
		if (r < 0)
			status = cli_fail("%s", a.err.msg[0] ? a.err.msg : strerror(-r));
	}
	vec_fini(&a.pids);
	return status;
}
