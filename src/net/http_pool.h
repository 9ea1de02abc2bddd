/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A pool of worker threads with a bounded queue of requests, shared fairly by flows (tenants).
 * Internal to net: http_work.h creates one for each struct http_pool_options.
 */
#include "base/cleanup.h"
#include "net/http.h"

struct http_pool;

/* Processes a request in a worker thread. */
typedef void (*http_pool_run_fn)(struct http_request *rq);

struct http_pool_state {
	unsigned int n_waiting, n_running;
};

/* Starts the threads. Returns 0; -EAGAIN if that fails; -ENOMEM. */
int http_pool_open(struct http_pool **out, const struct http_pool_options *opt,
		   http_pool_run_fn run);
/* Processes the queued requests, refuses later ones, and joins the threads. */
void http_pool_stop(struct http_pool *p);
/* Stops first. @p may be NULL. */
void http_pool_close(struct http_pool *p);

DEFINE_FREEP(struct http_pool, http_pool_close)

/*
 * Queues a request, which belongs to the pool until run() is called. Returns 0; -EAGAIN if the
 * queue, or the part of it that the request's flow may use, is full; -ESHUTDOWN after
 * http_pool_stop(). Any thread.
 */
int http_pool_put(struct http_pool *p, struct http_request *rq);

/* Returns true if http_pool_put() would accept a request of this flow now. Any thread. */
bool http_pool_has_room(struct http_pool *p, const struct http_request *rq);

/* Any thread. */
struct http_pool_state http_pool_state(struct http_pool *p);
