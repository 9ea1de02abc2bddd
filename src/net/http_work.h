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
#include "net/http_request.h"

struct http_outboxes;
struct http_pool_state;
struct http_work;

/* Starts the pools of the options. Returns 0; -EAGAIN if that fails; -ENOMEM. */
int http_work_open(struct http_work **out, const struct http_server_options *opt);
/* Processes the queued requests, refuses later ones with status 503, and joins the workers. */
void http_work_stop(struct http_work *w);
/* Call after all requests are freed. */
void http_work_close(struct http_work *w);

DEFINE_FREEP(struct http_work, http_work_close)

/* @pool is an index in the options. */
struct http_pool_state http_work_pool_state(const struct http_work *w, unsigned int pool);

/* The outboxes of the connections that pass their requests to @w. */
struct http_outboxes *http_work_outboxes(const struct http_work *w);

/*
 * Returns NULL if memory ran out. The connection owns the request, except from http_work_put()
 * until ops->finish. @method and @path are copied.
 */
struct http_request *http_request_new(struct http_work *w, const char *method, const char *path,
				      const struct http_connection_ops *ops, void *connection);
void http_request_free(struct http_request *rq);

DEFINE_FREEP(struct http_request, http_request_free)

/*
 * Calls opt->admit, which refuses requests by their headers or chooses their pool. Returns 0; the
 * status of the refusal in rq->admission; or -EINPROGRESS if a worker must decide: then stop
 * reading from the connection and call http_request_await_admission().
 */
int http_request_admit(struct http_request *rq);

/*
 * Queues a request for a worker that decides about its admission and calls ops->finish. The
 * connection then calls http_request_admitted() and continues. Returns 0, or -errno if no queue
 * accepts the request: the decision is then to refuse it.
 */
int http_request_await_admission(struct http_request *rq);

/* Applies the decision in rq->admission. Returns the same values as http_request_admit(). */
int http_request_admitted(struct http_request *rq);

/*
 * Appends to the body, which is discarded if the admission decided that. Returns 0; -EMSGSIZE
 * beyond http_request_max_body(); -ENOMEM. The connection calls it as data arrives; one thread.
 * Beyond the limit of all bodies a body is dropped, which http_request_complete() reports.
 */
int http_request_receive(struct http_request *rq, const void *data, size_t len);

/* The limit of the body of an admitted request, in bytes. */
size_t http_request_max_body(const struct http_request *rq);

/* Number of bytes of the body that have arrived. For the receiving thread. */
static inline size_t http_request_received(const struct http_request *rq)
{
	return rq->memory.received;
}

/* Call when the body has arrived. Returns false if it was dropped; then refuse the request. */
bool http_request_complete(struct http_request *rq);

/* Returns true if an admitted request belongs to a pool of queries. Call before http_work_put(). */
bool http_request_is_query(const struct http_request *rq);

/*
 * Queues a complete request for a worker. Returns 0; -EAGAIN if the queue is full; -EUSERS if
 * opt->begin refused it; -ESHUTDOWN. Then the connection still owns the request, and refuses it
 * with the result of http_queue_refusal().
 */
int http_work_put(struct http_request *rq);

/*
 * Fills in a response with an error in the Connect protocol's JSON. @message is constant text
 * without characters that JSON would escape. @retry_s of 0 means that a repetition cannot succeed.
 */
void http_request_refuse(struct http_request *rq, enum http_refusal why, int status,
			 const char *message, unsigned int retry_s);

/* The status and the message of a request that http_work_put() did not accept. */
struct http_queue_refusal {
	enum http_refusal why;
	int status;
	const char *message;
};
struct http_queue_refusal http_queue_refusal(const struct http_request *rq, int r);

/* The grpc-status of a refusal with HTTP @status. */
const char *http_refusal_grpc_status(int status);
