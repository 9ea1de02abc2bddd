/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo view FILE...`: serves the page of one profile to browsers on this machine. The page is
 * made once and stays in memory; nothing is written. The server listens on the loopback address and
 * answers requests that name it; anyone who can connect to ports of this machine can see the
 * profile while the command runs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/sources.h"
#include "codec/format.h"
#include "net/http_server.h"
#include "profile/profile.h"

enum { N_WORKERS = 2, MAX_CONNECTIONS = 32, IDLE_S = 30, MAX_BODY = 4096 };

struct view_args {
	uint64_t port;
};

#define OPTION_VALUES struct view_args

static const struct option_spec options[] = {
	OPTION_SECTION("Server"),
	OPTION(NUMBER, 0, "port", "N", port,
	       "Listen on this port of 127.0.0.1 (default: any free port)", .min = 1,
	       .max = UINT16_MAX),
	{ 0 },
};

/*
 * The page is complete before the server starts, so an invalid file is reported before an address
 * is printed.
 */
static int make_page(const struct sources *in, struct buf *out, struct err *err)
{
	struct format_options opt = { .root_label = "comm" };
	_cleanup_(profile_freep) struct profile *p = NULL;
	int r = sources_read(in, 0, in->paths.len, NULL, &p, &opt.value_num, err);

	if (r < 0)
		return r;
	opt.title = sources_title(in);
	return format_write(format_by_id("html"), p, &opt, out, err);
}

/*
 * Guards against DNS rebinding: a web page whose host name resolves to this machine sends a
 * different Host header.
 */
static bool has_local_host(const struct http_request *rq)
{
	const char *host = http_request_header(rq, "Host");

	return host && (!strncmp(host, "127.0.0.1:", 10) || !strncmp(host, "localhost:", 10));
}

/*
 * The page contains its data, so there is one resource. It must not be cached: the next run may use
 * the same port for another file.
 */
static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct buf *page = ctx;

	http_response_add(rs, "Cache-Control", "no-store");
	if (!has_local_host(rq)) {
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

/*
 * Signals are blocked before the server starts its threads, so that sigwait() receives them. The
 * address is printed when the server accepts connections, since a script may read it from the
 * output.
 */
static int serve(uint16_t port, struct buf *page, struct err *err)
{
	const struct http_pool_options pool = { .name = "http",
						.n_workers = N_WORKERS,
						.max_queue = 2 * MAX_CONNECTIONS };
	const struct http_server_options opt = {
		.host = "127.0.0.1",
		.port = port,
		.pools = &pool,
		.n_pools = 1,
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

static int view(const struct sources *in, const struct view_args *a)
{
	_cleanup_(buf_fini) struct buf page = { 0 };
	struct err err = { 0 };
	int r;

	if (!in->paths.len)
		return cli_fail_usage("expected a profile: FILE, URL, or - for standard input");
	r = make_page(in, &page, &err);
	if (r == 0)
		r = serve((uint16_t)a->port, &page, &err);
	return r < 0 ? cli_fail("%s", err.msg) : 0;
}

static int run_command(int argc, char **argv)
{
	struct view_args a = { 0 };
	struct sources in = { 0 };
	const struct option_set sets[] = { { options, &a }, { sources_options, &in }, { 0 } };
	int r = cli_parse(&view_command, sets, 0, argc, argv, &in.paths);

	if (r == CLI_CONTINUE)
		r = view(&in, &a);
	cli_fini(sets, &in.paths);
	return r;
}

const struct command view_command = {
	.name = "view",
	.summary = "show a profile in the browser",
	.synopsis = "[OPTION...] FILE|URL...",
	.description = "Serve a page that shows a profile of any format to this machine, and print "
		       "its address. The page is served until Ctrl-C. Several profiles are merged; "
		       "\"-\" is standard input.",
	.options = COMMAND_OPTIONS(options, sources_options),
	.examples = COMMAND_EXAMPLES(
		{ "Explore a recording in the browser", "cameo view cameo.pb.gz" },
		{ "Explore the output of perf", "perf script | cameo view - --port 8000" }),
	.run = run_command,
};
