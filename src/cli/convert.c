/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo convert IN... OUT`: one or several profiles into one file of another
 * format. What that format has no place for is told on standard error.
 */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/sources.h"
#include "codec/format.h"
#include "profile/profile.h"

enum { OPT_TO = 256, OPT_TITLE };

static const struct argp_option options[] = {
	{ "to", OPT_TO, "FORMAT", 0,
	  "Format of the output, whatever its suffix: pprof, pprof-raw, folded, html, svg, "
	  "speedscope, chrome, firefox, otlp",
	  0 },
	{ "title", OPT_TITLE, "TEXT", 0, "Title, where a format has one", 0 },
	{ "quiet", 'q', NULL, 0, "Do not tell what the format can't hold", 0 },
	{ 0 },
};

struct args {
	struct sources in; /* and the output, last */
	const struct format *to;
	const char *to_name, *title;
	bool quiet;
	struct err err;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		a->in.err = &a->err;
		state->child_inputs[0] = &a->in;
		break;
	case OPT_TO:
		a->to_name = arg;
		break;
	case OPT_TITLE:
		a->title = arg;
		break;
	case 'q':
		a->quiet = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void tell_losses(const struct args *a, const struct profile *p)
{
	_cleanup_(buf_fini) struct buf list = { 0 };

	format_losses(a->to, p, &list);
	if (a->quiet || !list.len || buf_error(&list))
		return;
	fprintf(stderr, "cameo: %s does not hold: %.*s\n", format_id(a->to), (int)list.len,
		(const char *)list.data);
}

static int convert(const struct args *a, const char *path, struct err *err)
{
	struct format_options opt = { .title = a->title, .root_label = "comm" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	_cleanup_(buf_fini) struct buf data = { 0 };
	int r = sources_read(&a->in, 0, a->in.paths.len - 1, NULL, &p, &opt.value_num, err);

	if (r < 0)
		return r;
	if (!opt.title)
		opt.title = sources_title(&a->in);
	r = outfile_open(&out, path, err);
	if (r == 0)
		r = format_write(a->to, p, &opt, &data, err);
	if (r == 0)
		r = outfile_commit(out, data.data, data.len, err);
	if (r == 0)
		tell_losses(a, p);
	return r == -EPIPE ? 0 : r;
}

int cli_convert(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = sources_options(),
		.args_doc = "IN... OUT",
		.doc = "Turn profiles into another format; several are merged. The suffix of OUT "
		       "names the format; - is standard input or output.\v"
		       "Examples:\n"
		       "  cameo convert cpu.pb.gz cpu.speedscope.json\n"
		       "  perf script | cameo convert - perf.html\n"
		       "  cameo convert monday.pb.gz tuesday.pb.gz both.folded\n",
	};
	struct args a = { 0 };
	const char *path;
	int status = 0;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	path = a.in.paths.len ? a.in.paths.data[a.in.paths.len - 1] : "-";
	if (!a.err.code && a.in.paths.len < 2)
		err_set(&a.err, -EINVAL, "from which file to which? (`cameo convert --help`)");
	if (a.err.code || cli_output_format(path, a.to_name, NULL, &a.to, &a.err) < 0) {
		cli_fail("%s", a.err.msg);
		status = EXIT_USAGE;
	} else if (convert(&a, path, &a.err) < 0) {
		status = cli_fail("%s", a.err.msg);
	}
	sources_fini(&a.in);
	return status;
}
