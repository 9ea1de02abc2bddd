/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The listening sockets. A thread accepts connections and looks at their first
 * bytes: those that begin as HTTP/2 does it serves itself, the others are handed
 * on. So gRPC needs no port of its own, though it may have one.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"

struct err;
struct front;
struct h2_tls;
struct http_work;

struct front_options {
	struct http_work *work;
	unsigned int max_connections, idle_seconds;
	struct h2_tls *tls; /* everything is encrypted; NULL: nothing is */
	/* Takes @fd: a connection that is not HTTP/2. */
	void (*other)(void *ctx, int fd, const struct sockaddr *addr, socklen_t len);
	void *ctx;
};

int front_open(struct front **out, const struct front_options *opt, struct err *err);

/* Listen, before front_start(); @out_port is the one that it is. */
int front_listen(struct front *f, const char *host, uint16_t port, uint16_t *out_port,
		 struct err *err);
int front_start(struct front *f, struct err *err);

/* Accept nothing more. */
void front_quiesce(struct front *f);

/* After the workers: send what they had, as far as clients take it at once. */
void front_close(struct front *f);

DEFINE_FREEP(struct front, front_close)
