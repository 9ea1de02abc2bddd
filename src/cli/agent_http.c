/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent_http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/listen.h"
#include "net/http_server.h"

/*
 * /healthz depends on sampling alone: an unreachable destination must not make a supervisor restart
 * the agent, which would lose the queued profiles.
 */
static void handle_request(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct agent_http *h = ctx;
	const char *path = http_request_path(rq);

	rs->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (!strcmp(path, "/healthz")) {
		rs->status = h->is_healthy(h->ctx) ? 200 : 503;
		buf_put_str(&rs->body, rs->status == 200 ? "ok\n" : "not sampling\n");
	} else if (!strcmp(path, "/metrics")) {
		h->put_metrics(h->ctx, &rs->body);
	} else {
		rs->status = 404;
		buf_put_str(&rs->body, "not found: use /metrics or /healthz\n");
	}
}

static int parse(struct listen_address *out, const char *text, struct err *err)
{
	if (listen_parse(out, text, NULL) < 0)
		return err_set(err, -EINVAL, "--metrics \"%.80s\": expected HOST:PORT or no", text);
	if (!listen_is_loopback(out->host))
		return err_set(err, -EINVAL,
			       "--metrics \"%.80s\": expected a loopback address, because metrics "
			       "need no authentication",
			       text);
	return 0;
}

int agent_http_open(struct http_server **out, const struct agent_http *h, const char *address,
		    struct err *err)
{
	const struct http_pool_options pool = { .name = "metrics",
						.n_workers = 1,
						.max_queue = 32 };
	struct listen_address at;
	struct http_server_options opt = {
		.pools = &pool,
		.n_pools = 1,
		.max_connections = 16,
		.idle_seconds = 10,
		.max_body = 1024,
		.max_memory = 64 << 10,
		.handler = handle_request,
		.ctx = (void *)h,
	};
	int r;

	if (!address || !strcmp(address, "no"))
		return 0;
	r = parse(&at, address, err);
	if (r < 0)
		return r;
	opt.host = at.host;
	opt.port = at.port;
	r = http_server_open(out, &opt, err);
	if (r == 0)
		fprintf(stderr, "level=info msg=\"serving metrics at http://%s:%u/metrics\"\n",
			opt.host, http_server_port(*out));
	return r;
}
