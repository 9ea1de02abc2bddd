/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo view FILE...`: the page on one profile, for a browser on this machine.
 * It is made once and served as long as this runs; nothing is written.
 */
#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/sources.h"
#include "codec/format.h"
#include "net/http_server.h"
#include "profile/profile.h"

enum { OPT_PORT = 256 };
enum { N_WORKERS = 2, MAX_CONNECTIONS = 32, IDLE_S = 30, MAX_BODY = 4096 };

static const struct argp_option options[] = {
	{ "port", OPT_PORT, "N", 0, "Listen there (default: any port that is free)", 0 },
	{ 0 },
};

struct args {
	struct sources in;
	uint64_t port;
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
	case OPT_PORT:
		args_number("port", arg, 1, UINT16_MAX, &a->port, &a->err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int make_page(const struct args *a, struct buf *out, struct err *err)
{
	struct format_options opt = { .root_label = "comm" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = sources_read(&a->in, 0, a->in.paths.len, NULL, &p, &opt.value_num, err);

	if (r < 0)
		return r;
	opt.title = sources_title(&a->in);
	return format_write(format_by_id("html"), p, &opt, out, err);
}

/* A page of the web that has its name point here has another name in its Host. */
static bool is_asked_for_us(const struct http_request *rq)
{
	const char *host = http_request_header(rq, "Host");

	return host && (!strncmp(host, "127.0.0.1:", 10) || !strncmp(host, "localhost:", 10));
}

static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct buf *page = ctx;

	http_response_add(rs, "Cache-Control", "no-store");
	if (!is_asked_for_us(rq)) {
		rs->status = 403;
		return;
	}
	if (strcmp(http_request_method(rq), "GET") != 0 ||
	    strcmp(http_request_path(rq), "/") != 0) {
		rs->status = 404;
		return;
	}
	rs->content_type = "text/html; charset=utf-8";
	buf_put(&rs->body, page->data, page->len);
}

static int serve(const struct args *a, struct buf *page, struct err *err)
{
	const struct http_server_options opt = {
		.host = "127.0.0.1",
		.port = (uint16_t)a->port,
		.n_workers = N_WORKERS,
		.max_connections = MAX_CONNECTIONS,
		.idle_seconds = IDLE_S,
		.max_body = MAX_BODY,
		.max_memory = MAX_BODY * MAX_CONNECTIONS,
		.handler = handle,
		.ctx = page,
	};
	_cleanup_(http_server_closep) struct http_server *s = NULL;
	sigset_t stop;
	int r, sig;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = http_server_open(&s, &opt, err);
	if (r < 0)
		return r;
	printf("http://127.0.0.1:%u/\n", http_server_port(s));
	fflush(stdout);
	sigwait(&stop, &sig);
	return 0;
}

static int view(const struct args *a, struct err *err)
{
	_cleanup_(buf_fini) struct buf page = { 0 };
	int r = make_page(a, &page, err);

	return r < 0 ? r : serve(a, &page, err);
}

int cli_view(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = sources_options(),
		.args_doc = "FILE...",
		.doc = "Show a profile of any format in the browser: prints where, and serves it "
		       "to this machine until Ctrl-C. Several files are merged; - is standard "
		       "input.\v"
		       "Examples:\n"
		       "  cameo view cameo.pb.gz\n"
		       "  perf script | cameo view - --port 8000\n",
	};
	struct args a = { 0 };
	int status = 0;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (!a.err.code && !a.in.paths.len)
		err_set(&a.err, -EINVAL, "which file? (`cameo view --help`)");
	if (a.err.code) {
		cli_fail("%s", a.err.msg);
		status = EXIT_USAGE;
	} else if (view(&a, &a.err) < 0) {
		status = cli_fail("%s", a.err.msg);
	}
	sources_fini(&a.in);
	return status;
}
