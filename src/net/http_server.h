/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An HTTP/1.1 and HTTP/2 server for requests that fit into memory. Complete requests go to pools of
 * worker threads; input and output have threads of their own, so an idle or slow client costs a
 * connection and does not block a worker. Limits on connections, idle time, bodies, memory and
 * queues are part of the options (http.h). Requests beyond them are answered without the handler,
 * with 413, 429 or 503.
 */
#include <stdint.h>

#include "base/cleanup.h"
#include "net/http.h"

struct err;
struct http_pool_state;
struct http_server;

/*
 * Returns 0, or -errno with the reason in @err. The handler may be called before it returns. The
 * caller frees *@out.
 */
int http_server_open(struct http_server **out, const struct http_server_options *opt,
		     struct err *err);
/* Answers the current requests first. No handler runs afterwards. */
void http_server_close(struct http_server *s);

DEFINE_FREEP(struct http_server, http_server_close)

/*
 * Replaces the PEM texts of a server with TLS, for connections that begin later. They are copied.
 * Returns 0, or -errno with the reason in @err; then nothing has changed.
 */
int http_server_reload_tls(struct http_server *s, const char *cert, const char *key,
			   const char *client_ca, struct err *err);

uint16_t http_server_port(const struct http_server *s);
uint16_t http_server_grpc_port(const struct http_server *s);

/* The requests of a pool of the options, for metrics (net/http_pool.h). Any thread. */
struct http_pool_state http_server_pool_state(const struct http_server *s, unsigned int pool);
