/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection creates a request, appends the body as it arrives, and puts the request into the
 * pool that the handler's owner chose by its headers (http_admission). From then on it belongs to a
 * worker, which calls the handler and returns the request with http_connection_ops.finish.
 */
#include "net/http_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/http_bodies.h"
#include "net/http_outbox.h"
#include "net/http_pool.h"

struct http_work {
	struct http_server_options opt;
	struct http_bodies *bodies;
	struct http_outboxes *outboxes;
	struct http_pool_options pool_options[HTTP_MAX_POOLS];
	struct http_pool *pools[HTTP_MAX_POOLS];
	unsigned int n_pools;
};

const char *http_request_method(const struct http_request *rq)
{
	return rq->method;
}

const char *http_request_path(const struct http_request *rq)
{
	return rq->path;
}

const char *http_request_header(const struct http_request *rq, const char *name)
{
	return rq->ops->header(rq, name);
}

const char *http_request_host(const struct http_request *rq)
{
	const char *host = rq->authority ? rq->authority : http_request_header(rq, ":authority");

	return host ? host : http_request_header(rq, "Host");
}

const char *http_request_arg(const struct http_request *rq, const char *name)
{
	return rq->ops->arg(rq, name);
}

void http_request_each_arg(const struct http_request *rq, http_arg_fn fn, void *ctx)
{
	rq->ops->each_arg(rq, fn, ctx);
}

int64_t http_request_complete_ns(const struct http_request *rq)
{
	return rq->complete_ns;
}

const struct http_peer *http_request_peer(const struct http_request *rq)
{
	return &rq->peer;
}

const void *http_request_body(const struct http_request *rq, size_t *out_len)
{
	*out_len = rq->body.len;
	return rq->body.data;
}

struct http_request *http_request_new(struct http_work *w, const char *method, const char *path,
				      const struct http_connection_ops *ops, void *connection)
{
	_cleanup_(http_request_freep) struct http_request *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return NULL;
	rq->work = w;
	rq->ops = ops;
	rq->connection = connection;
	rq->response.status = 200;
	rq->method = strdup(method);
	rq->path = strdup(path);
	return rq->method && rq->path ? steal_ptr(&rq) : NULL;
}

/*
 * Frees what only the computation of a response needs: from now on, the request costs nobody but
 * its own connection.
 */
static void end_computation(struct http_request *rq)
{
	if (rq->admission.token)
		rq->work->opt.released(rq->work->opt.ctx, rq->admission.token);
	rq->admission.token = NULL;
	http_bodies_release(rq->work->bodies, rq);
}

void http_request_free(struct http_request *rq)
{
	if (!rq)
		return;
	http_outbox_leave(&rq->outbox);
	end_computation(rq);
	buf_fini(&rq->response.body);
	free(rq->method);
	free(rq->path);
	free(rq->authority);
	free(rq);
}

int http_request_admit(struct http_request *rq)
{
	const struct http_server_options *opt = &rq->work->opt;

	if (opt->admit)
		opt->admit(opt->ctx, rq, false, &rq->admission);
	rq->is_admitting = rq->admission.later;
	return http_request_admitted(rq);
}

/* The pool that an admission names does not exist if a server has fewer pools. */
int http_request_admitted(struct http_request *rq)
{
	const struct http_admission *a = &rq->admission;

	rq->flow = a->flow;
	rq->memory.is_discarded = a->no_body;
	rq->memory.max = a->max_body;
	rq->pool = a->pool < rq->work->n_pools ? a->pool : 0;
	return rq->is_admitting ? -EINPROGRESS : a->status;
}

int http_request_await_admission(struct http_request *rq)
{
	struct http_queue_refusal q;
	int r = http_work_put(rq);

	if (r == 0)
		return 0;
	q = http_queue_refusal(rq, r);
	rq->is_admitting = false;
	rq->admission =
		(struct http_admission){ .status = q.status, .message = q.message, .retry_s = 1 };
	return r;
}

/* In a worker. The thread of the connection applies the decision, since it uses the fields. */
static void decide_admission(struct http_request *rq)
{
	const struct http_server_options *opt = &rq->work->opt;

	rq->admission = (struct http_admission){ 0 };
	opt->admit(opt->ctx, rq, true, &rq->admission);
	rq->is_admitting = false;
	rq->ops->finish(rq);
}

size_t http_request_max_body(const struct http_request *rq)
{
	return http_bodies_max(rq->work->bodies, rq);
}

int http_request_receive(struct http_request *rq, const void *data, size_t len)
{
	return http_bodies_receive(rq->work->bodies, rq, data, len);
}

bool http_request_complete(struct http_request *rq)
{
	http_bodies_complete(rq->work->bodies, rq);
	return !rq->over_memory;
}

unsigned int http_request_pool(const struct http_request *rq)
{
	return rq->pool;
}

bool http_request_is_abandoned(const struct http_request *rq)
{
	return atomic_load_explicit(&rq->abandoned, memory_order_relaxed);
}

const atomic_bool *http_request_abandoned(const struct http_request *rq)
{
	return &rq->abandoned;
}

/*
 * The codes of the Connect protocol and gRPC for refusals without a handler. OpenTelemetry's
 * clients would not repeat RESOURCE_EXHAUSTED (8) without details, so 429 is UNAVAILABLE (14)
 * there.
 */
struct refusal {
	int status;
	const char *code, *grpc;
};

static const struct refusal *refusal_of(int status)
{
	static const struct refusal all[] = {
		{ 400, "invalid_argument", "3" },    { 401, "unauthenticated", "16" },
		{ 403, "permission_denied", "7" },   { 421, "permission_denied", "7" },
		{ 429, "resource_exhausted", "14" }, { 503, "unavailable", "14" },
		{ 0, "resource_exhausted", "8" },
	};
	const struct refusal *r = all;

	while (r->status && r->status != status)
		r++;
	return r;
}

const char *http_refusal_grpc_status(int status)
{
	return refusal_of(status)->grpc;
}

void http_request_refuse(struct http_request *rq, enum http_refusal why, int status,
			 const char *message, unsigned int retry_s)
{
	const struct http_server_options *opt = &rq->work->opt;
	struct http_response *rs = &rq->response;

	if (opt->refused)
		opt->refused(opt->ctx, rq, why, status);
	end_computation(rq);
	rq->refused = true;
	rs->status = status;
	rs->content_type = "application/json";
	if (status == 401 && !rq->admission.no_challenge)
		http_response_add(rs, "WWW-Authenticate", "Basic realm=\"cameo\"");
	if (retry_s) {
		snprintf(rs->trailer_text, sizeof(rs->trailer_text), "%u", retry_s);
		http_response_add(rs, "Retry-After", rs->trailer_text);
	}
	buf_put_str(&rs->body, "{\"code\":\"");
	buf_put_str(&rs->body, refusal_of(status)->code);
	buf_put_str(&rs->body, "\",\"message\":\"");
	buf_put_str(&rs->body, message);
	buf_put_str(&rs->body, "\"}");
}

struct http_queue_refusal http_queue_refusal(const struct http_request *rq, int r)
{
	if (r == -EUSERS)
		return (struct http_queue_refusal){ HTTP_REFUSED_REQUEST, rq->admission.status,
						    rq->admission.message };
	if (r == -ESHUTDOWN)
		return (struct http_queue_refusal){ HTTP_REFUSED_STOP, 503,
						    "server is shutting down" };
	return (struct http_queue_refusal){ HTTP_REFUSED_QUEUE, 503,
					    "too many requests are waiting" };
}

bool http_request_is_query(const struct http_request *rq)
{
	return rq->pool < rq->work->n_pools && rq->work->pool_options[rq->pool].is_query;
}

int http_work_put(struct http_request *rq)
{
	const struct http_server_options *opt = &rq->work->opt;
	struct http_admission *a = &rq->admission;

	rq->complete_ns = (int64_t)clock_monotonic_ns();
	if (rq->pool >= rq->work->n_pools)
		return -ESHUTDOWN;
	if (a->group[0] && !rq->is_admitting) {
		opt->begin(opt->ctx, rq, a);
		if (a->status)
			return -EUSERS;
	}
	return http_pool_put(rq->work->pools[rq->pool], rq);
}

/* The queue may exceed its limit by one request for each worker that moves one at the same time. */
bool http_request_move(const struct http_request *rq, unsigned int pool)
{
	struct http_request *own = (struct http_request *)(uintptr_t)rq;

	if (!http_pool_has_room(rq->work->pools[pool], rq))
		return false;
	own->moving = true;
	own->move_to = pool;
	return true;
}

bool http_request_is_moving(const struct http_request *rq)
{
	return rq->moving;
}

/* Forgets what the handler wrote before it moved the request. */
static void reset_response(struct http_response *rs)
{
	buf_fini(&rs->body);
	*rs = (struct http_response){ .status = 200 };
}

static void run_request(struct http_request *rq)
{
	struct http_work *w = rq->work;

	if (rq->is_admitting) {
		decide_admission(rq);
		return;
	}
	if (w->pool_options[rq->pool].is_query && http_request_is_abandoned(rq))
		http_request_refuse(rq, HTTP_REFUSED_GONE, 499, "client has disconnected", 0);
	else
		w->opt.handler(w->opt.ctx, rq, &rq->response);
	while (rq->moving) {
		rq->moving = false;
		reset_response(&rq->response);
		rq->pool = rq->move_to;
		if (http_pool_put(w->pools[rq->pool], rq) == 0)
			return;
		w->opt.handler(w->opt.ctx, rq, &rq->response);
	}
	end_computation(rq);
	rq->done = true;
	rq->ops->finish(rq);
}

struct http_outboxes *http_work_outboxes(const struct http_work *w)
{
	return w->outboxes;
}

struct http_pool_state http_work_pool_state(const struct http_work *w, unsigned int pool)
{
	return pool < w->n_pools ? http_pool_state(w->pools[pool]) : (struct http_pool_state){ 0 };
}

void http_work_stop(struct http_work *w)
{
	for (unsigned int i = 0; i < w->n_pools; i++)
		http_pool_stop(w->pools[i]);
}

void http_work_close(struct http_work *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < w->n_pools; i++)
		http_pool_close(w->pools[i]);
	http_bodies_free(w->bodies);
	http_outboxes_free(w->outboxes);
	free(w);
}

int http_work_open(struct http_work **out, const struct http_server_options *opt)
{
	_cleanup_(http_work_closep) struct http_work *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return -ENOMEM;
	w->opt = *opt;
	w->bodies = http_bodies_new(opt->max_memory, opt->max_body);
	w->outboxes = http_outboxes_new(&(struct http_outboxes_options){
		opt->max_unsent, opt->idle_seconds, opt->unread, opt->ctx });
	if (!w->bodies || !w->outboxes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < opt->n_pools && i < HTTP_MAX_POOLS; i++) {
		w->pool_options[i] = opt->pools[i];
		r = http_pool_open(&w->pools[i], &opt->pools[i], run_request);
		w->n_pools += r == 0;
	}
	w->opt.pools = w->pool_options;
	if (r == 0)
		*out = steal_ptr(&w);
	return r;
}
