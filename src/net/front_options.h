/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of the front, which its connections also use. */
#include <stddef.h>

#include "net/make_room.h"

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
	/*
	 * Returns the number of open connections that were passed to other(); *@out_closing is the
	 * number of further ones that are about to be closed.
	 */
	size_t (*n_others)(void *ctx, size_t *out_closing);
	void *ctx;
};
