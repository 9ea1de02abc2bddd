/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of complete requests and the threads that process them. A connection creates a request,
 * appends the body as it arrives, and queues the request. From then on it belongs to a worker,
 * which calls the handler and returns the request with http_connection_ops.finish.
 *
 * The bodies of all requests count against max_memory from their arrival until the request is
 * freed. A request that would exceed it loses its body and is refused at its end. Workers are
 * threads with blocking handlers: a query computes for milliseconds to seconds, and a few of them
 * are enough for any number of connections.
 */
#include "net/http_work.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { MAX_WORKERS = 64 };

struct http_work {
	struct http_server_options opt;
	atomic_size_t memory; /* bytes of the bodies of all requests */
	pthread_mutex_t lock; /* of queue, queue_end and stop */
	pthread_cond_t more;
	struct http_request *queue, **queue_end;
	bool stop;
	unsigned int n_workers;
	pthread_t workers[MAX_WORKERS];
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

const char *http_request_arg(const struct http_request *rq, const char *name)
{
	return rq->ops->arg(rq, name);
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

void http_request_free(struct http_request *rq)
{
	if (!rq)
		return;
	atomic_fetch_sub(&rq->work->memory, rq->body.len);
	buf_fini(&rq->body);
	buf_fini(&rq->response.body);
	free(rq->method);
	free(rq->path);
	free(rq);
}

int http_request_admit(const struct http_request *rq, const char **out_message)
{
	const struct http_server_options *opt = &rq->work->opt;

	return opt->admit ? opt->admit(opt->ctx, rq, out_message) : 0;
}

static void drop_body(struct http_request *rq)
{
	atomic_fetch_sub(&rq->work->memory, rq->body.len);
	buf_fini(&rq->body);
	rq->body = (struct buf){ 0 };
	rq->over_memory = true;
}

int http_request_receive(struct http_request *rq, const void *data, size_t len)
{
	if (rq->body.len + len > rq->work->opt.max_body)
		return -EMSGSIZE;
	if (rq->over_memory || atomic_load(&rq->work->memory) + len > rq->work->opt.max_memory) {
		drop_body(rq);
		return 0;
	}
	buf_put(&rq->body, data, len);
	if (buf_error(&rq->body))
		return -ENOMEM;
	atomic_fetch_add(&rq->work->memory, len);
	return 0;
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

void http_request_refuse(struct http_request *rq, int status, const char *message)
{
	const struct http_server_options *opt = &rq->work->opt;

	if (opt->refused)
		opt->refused(opt->ctx, rq, status);
	rq->refused = true;
	rq->response.status = status;
	rq->response.content_type = "application/json";
	if (status == 401)
		http_response_add(&rq->response, "WWW-Authenticate", "Bearer realm=\"cameo\"");
	if (status == 429 || status == 503)
		http_response_add(&rq->response, "Retry-After", "1");
	buf_put_str(&rq->response.body, "{\"code\":\"");
	buf_put_str(&rq->response.body, refusal_of(status)->code);
	buf_put_str(&rq->response.body, "\",\"message\":\"");
	buf_put_str(&rq->response.body, message);
	buf_put_str(&rq->response.body, "\"}");
}

/* After http_work_stop() the request is answered at once in the caller's thread. */
void http_work_put(struct http_request *rq)
{
	struct http_work *w = rq->work;
	bool stopped;

	rq->complete_ns = (int64_t)clock_monotonic_ns();

	pthread_mutex_lock(&w->lock);
	stopped = w->stop;
	if (!stopped) {
		rq->next = NULL;
		*w->queue_end = rq;
		w->queue_end = &rq->next;
		pthread_cond_signal(&w->more);
	}
	pthread_mutex_unlock(&w->lock);
	if (stopped) {
		http_request_refuse(rq, 503, "server is shutting down");
		rq->done = true;
		rq->ops->finish(rq);
	}
}

/*
 * Runs the handler without the lock. After http_work_stop() it empties the queue before it returns.
 */
static void *worker_main(void *arg)
{
	struct http_work *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct http_request *rq;

		while (!w->queue && !w->stop)
			pthread_cond_wait(&w->more, &w->lock);
		rq = w->queue;
		if (!rq)
			break;
		w->queue = rq->next;
		if (!w->queue)
			w->queue_end = &w->queue;
		pthread_mutex_unlock(&w->lock);
		w->opt.handler(w->opt.ctx, rq, &rq->response);
		rq->done = true;
		rq->ops->finish(rq);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void http_work_stop(struct http_work *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (; w->n_workers; w->n_workers--)
		pthread_join(w->workers[w->n_workers - 1], NULL);
}

void http_work_close(struct http_work *w)
{
	if (!w)
		return;
	http_work_stop(w);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	free(w);
}

int http_work_open(struct http_work **out, const struct http_server_options *opt)
{
	_cleanup_(http_work_closep) struct http_work *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->opt = *opt;
	w->queue_end = &w->queue;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	for (; w->n_workers < opt->n_workers && w->n_workers < MAX_WORKERS; w->n_workers++)
		if (pthread_create(&w->workers[w->n_workers], NULL, worker_main, w) != 0)
			return -EAGAIN;
	*out = steal_ptr(&w);
	return 0;
}
