/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests on their way from a connection to a worker thread and back, shared by HTTP/1 and
 * HTTP/2. Internal to net; other folders use http_server.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "net/http.h"

struct http_work;

/* The connection's part of a request. */
struct http_connection_ops {
	const char *(*header)(const struct http_request *rq, const char *name);
	const char *(*arg)(const struct http_request *rq, const char *name);
	void (*finish)(struct http_request
			       *rq); /* called by a worker after it has filled in the response */
};

/* connection is the stream of HTTP/2 or the connection of libmicrohttpd. */
struct http_request {
	struct http_work *work;
	const struct http_connection_ops *ops;
	void *connection; /* of the ops */
	struct http_peer peer;
	int64_t complete_ns; /* CLOCK_MONOTONIC; when the request was complete */
	char *method, *path;
	struct buf body;
	bool over_memory; /* the body was dropped: refuse the request when it is complete */
	bool refused;     /* the response is an error that was made without a worker */
	bool done;        /* the response is complete */
	struct http_response response;
	struct http_request *next;
};

/* Starts opt->n_workers threads that call opt->handler. 0; -EAGAIN if that fails; -ENOMEM. */
int http_work_open(struct http_work **out, const struct http_server_options *opt);
/* Processes the queued requests, refuses later ones with status 503, and joins the workers. */
void http_work_stop(struct http_work *w);
/* Call after all requests are freed. */
void http_work_close(struct http_work *w);

DEFINE_FREEP(struct http_work, http_work_close)

/*
 * Returns NULL if memory ran out. The connection owns the request, except from http_work_put()
 * until ops->finish. @method and @path are copied.
 */
struct http_request *http_request_new(struct http_work *w, const char *method, const char *path,
				      const struct http_connection_ops *ops, void *connection);
void http_request_free(struct http_request *rq);

DEFINE_FREEP(struct http_request, http_request_free)

/*
 * Calls opt->admit, which refuses requests by their headers. Returns 0, or the status
 * and
 * *@out_message.
 */
int http_request_admit(const struct http_request *rq, const char **out_message);

/*
 * Appends to the body. Returns 0; -EMSGSIZE beyond the limit of one body; -ENOMEM. Beyond the limit
 * of all bodies together it drops the body and sets over_memory. The connection calls it as data
 * arrives; one thread.
 */
int http_request_receive(struct http_request *rq, const void *data, size_t len);

/* Queues a complete request for a worker. */
void http_work_put(struct http_request *rq);

/*
 * Fills in a response with an error in the Connect protocol's JSON. @message is constant text
 * without characters that JSON would escape.
 */
void http_request_refuse(struct http_request *rq, int status, const char *message);

/* The grpc-status of a refusal with HTTP @status. */
const char *http_refusal_grpc_status(int status);
