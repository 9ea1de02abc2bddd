/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* /metrics and /healthz of an agent. */
#include <stdbool.h>

struct buf;
struct err;
struct http_server;

/* Called in the thread of the HTTP server. */
struct agent_http {
	bool (*is_healthy)(void *ctx);
	/* Appends all metrics in the Prometheus text format. */
	void (*put_metrics)(void *ctx, struct buf *out);
	void *ctx;
};

/*
 * Serves @h, which is borrowed, at @address: HOST:PORT of the loopback interface, because the
 * metrics name processes and servers, and there is no authentication. NULL and "no" serve nothing,
 * and leave *@out NULL. Returns 0 or -errno with the reason in @err.
 */
int agent_http_open(struct http_server **out, const struct agent_http *h, const char *address,
		    struct err *err);
