/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whole requests on their way from a connection to a worker thread and back: what
 * HTTP/1 and HTTP/2 share. Inside of net; others see http_server.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "net/http_server.h"

struct http_work;

/* What a request's connection can do for it. */
struct http_connection_ops {
	const char *(*header)(const struct http_request *rq, const char *name);
	const char *(*arg)(const struct http_request *rq, const char *name);
	void (*finish)(struct http_request *rq); /* by a worker: the response is filled in */
};

struct http_request {
	struct http_work *work;
	const struct http_connection_ops *ops;
	void *connection; /* of the ops */
	char *method, *path;
	struct buf body;
	bool refused, done;
	struct http_response response;
	struct http_request *next;
};

/* @n_workers threads that call opt->handler. 0; -EAGAIN when they can't be started; -ENOMEM. */
int http_work_open(struct http_work **out, const struct http_server_options *opt);
/* Answer what is queued, and then nothing more than that. */
void http_work_stop(struct http_work *w);
/* After all requests are freed. */
void http_work_close(struct http_work *w);

DEFINE_FREEP(struct http_work, http_work_close)

/* NULL for want of memory. The request belongs to whoever made it, but for the time in between. */
struct http_request *http_request_new(struct http_work *w, const char *method, const char *path,
				      const struct http_connection_ops *ops, void *connection);
void http_request_free(struct http_request *rq);

DEFINE_FREEP(struct http_request, http_request_free)

/* Add to the body: 0; -EMSGSIZE beyond the limit; -ENOMEM. */
int http_request_receive(struct http_request *rq, const void *data, size_t len);

/* Is there more in memory, of all requests together, than is allowed? */
bool http_work_is_full(const struct http_work *w);

void http_work_put(struct http_request *rq);

/* Make the response an error of Connect's shape. */
void http_request_refuse(struct http_request *rq, int status, const char *message);
