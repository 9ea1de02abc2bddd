/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The listening sockets. One thread accepts connections and inspects their first bytes: it serves
 * HTTP/2 itself and passes other connections on. gRPC therefore does not need its own port, but may
 * have one. Call order: front_open(), front_listen() once or twice, front_start(), front_quiesce(),
 * http_work_stop(), front_close().
 */
#include <stdint.h>

#include "base/cleanup.h"
#include "net/make_room.h"

struct err;
struct front;
struct http_peer;
struct http_work;
struct tls;

struct front_options {
	struct http_work *work;
	unsigned int max_connections, idle_seconds;
	size_t max_headers; /* of all requests over HTTP/2, in memory; 0: no limit */
	struct tls *tls;    /* NULL: no encryption */
	/* Takes ownership of @fd, a connection that is not HTTP/2, without encryption. */
	void (*other)(void *ctx, int fd, const struct http_peer *peer);
	void (*sweep)(void *ctx, int64_t now_ms); /* called about once a second */
	make_room_each_fn each_idle;              /* of those that were passed to other() */
	/* The number of those that are open; @out_closing is that of others, which will be closed.
	 */
	size_t (*n_others)(void *ctx, size_t *out_closing);
	void *ctx;
};

/*
 * Returns 0, -EAGAIN, -ENOMEM or another -errno. The caller frees *@out with front_close().
 * @opt->work must outlive it.
 */
int front_open(struct front **out, const struct front_options *opt, struct err *err);

/*
 * Listens on an address; call before front_start(). @out_port is the actual port. @host is numeric
 * or a name; the first of its addresses is used. Returns 0, -EINVAL if it cannot be resolved, or
 * -errno.
 */
int front_listen(struct front *f, const char *host, uint16_t port, uint16_t *out_port,
		 struct err *err);
int front_start(struct front *f, struct err *err);

/* Stops accepting connections. Connections that exist continue. */
void front_quiesce(struct front *f);

/* Call after the workers have stopped. Sends their responses as far as clients accept them now. */
void front_close(struct front *f);

DEFINE_FREEP(struct front, front_close)
