/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request within net, which belongs to its connection, then to a pool (http_work.h). Other
 * folders see it through http.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http.h"
#include "net/http_outbox.h"
#include "net/turns.h"

struct http_work;

/* The part of a request that belongs to http_bodies.c. */
struct http_body {
	size_t max;        /* bytes that may arrive; 0: the limit of the bodies */
	bool is_discarded; /* no byte of it is stored */
	size_t received;   /* bytes that arrived; the receiving thread's */
	uint64_t flow;     /* to which it is charged; set with the first byte */
	size_t charged;    /* what follows is guarded by the lock of the bodies */
	size_t marked_len; /* bytes at the time marked_ms */
	int64_t marked_ms;
	bool is_listed;
	struct http_request *prev, *next;
};

/* The connection's part of a request. */
struct http_connection_ops {
	const char *(*header)(const struct http_request *rq, const char *name);
	const char *(*arg)(const struct http_request *rq, const char *name);
	void (*each_arg)(const struct http_request *rq, http_arg_fn fn, void *ctx);
	/* Called by a worker that has filled in the response, or decided about the admission. */
	void (*finish)(struct http_request *rq);
};

/* connection is the stream of HTTP/2 or the connection of libmicrohttpd. */
struct http_request {
	struct http_work *work;
	const struct http_connection_ops *ops;
	void *connection; /* of the ops */
	struct http_peer peer;
	int64_t complete_ns; /* CLOCK_MONOTONIC; when the request was complete */
	char *method, *path;
	char *authority; /* of the target of an HTTP/1 request; or NULL */
	struct buf body; /* while it arrives, guarded by the lock of the bodies */
	struct http_body memory;
	uint64_t flow;
	struct turn turn; /* in the queue of its pool */
	struct http_admission admission;
	bool is_first_call; /* libmicrohttpd calls for the headers again */
	bool is_admitting;  /* a worker decides about the admission; afterwards false again */
	unsigned int pool, move_to;
	bool moving;           /* the handler called http_request_move() */
	bool over_memory;      /* the body was dropped: refuse the request when it is complete */
	bool refused;          /* the response is an error that was made without a worker */
	bool done;             /* the response is complete */
	atomic_bool abandoned; /* the client has disconnected */
	struct http_response response;
	struct http_outbox outbox; /* of an HTTP/1 connection, which has one response at a time */
	struct http_request *next;
};
