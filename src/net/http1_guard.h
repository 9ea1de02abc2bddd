/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks that libmicrohttpd leaves to its user: requests whose end two parsers may see in different
 * places are refused (RFC 9112, sections 3.2, 5.1 and 6.3), and clients that are slow on purpose
 * are disconnected.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "net/make_room.h"

struct MHD_Connection;
struct http1_guard;
struct http_peer;

/*
 * Returns why the headers of a request are refused: "Content-Length" more than once, not a number,
 * or together with Transfer-Encoding, which HTTP/1.0 does not have; Host missing in HTTP/1.1, or
 * more than once; a name that ends with a space. NULL if they are fine.
 */
const char *http1_framing_error(struct MHD_Connection *c, const char *version);

/* Returns NULL if memory ran out. */
struct http1_guard *http1_guard_new(unsigned int idle_seconds);
/* Call after libmicrohttpd has stopped. */
void http1_guard_free(struct http1_guard *g);

DEFINE_FREEP(struct http1_guard, http1_guard_free)

/*
 * The life of a connection, as libmicrohttpd's thread reports it: it opens and closes; the body of
 * a request has @received bytes, 0 when its headers are complete; a worker has the request, and
 * *@abandoned is set if the client disconnects meanwhile; its response of @bytes is being sent; the
 * request is over.
 */
void http1_guard_opened(struct http1_guard *g, struct MHD_Connection *c,
			const struct http_peer *peer, void **own);
void http1_guard_closed(struct http1_guard *g, void **own);
void http1_guard_body(struct http1_guard *g, struct MHD_Connection *c, size_t received);
void http1_guard_work(struct http1_guard *g, struct MHD_Connection *c, atomic_bool *abandoned);
void http1_guard_response(struct http1_guard *g, struct MHD_Connection *c, size_t bytes);
void http1_guard_over(struct http1_guard *g, struct MHD_Connection *c);

/*
 * Shuts down the sockets of clients that are late, and notices those that have disconnected while a
 * worker has their request. Any thread; about once a second.
 */
void http1_guard_sweep(struct http1_guard *g, int64_t now_ms);

/* Calls @fn for each idle connection (make_room.h). It shuts down what @fn chooses. Any thread.
 */
void http1_guard_each_idle(struct http1_guard *g, make_room_fn fn, void *ctx);

/* A connection is passed to libmicrohttpd, whose thread calls http1_guard_opened() later. */
void http1_guard_expect(struct http1_guard *g);

/* The numbers of connections. Any thread. */
struct http1_guard_count {
	size_t open, expected;
	size_t closing; /* shut down, and not yet closed by libmicrohttpd's thread */
};

struct http1_guard_count http1_guard_count(struct http1_guard *g);
