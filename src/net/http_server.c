/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd's one thread does all input and output with epoll. A request
 * whose body is complete is suspended and queued; a worker fills in the response
 * and resumes it. The server is closed in that order: workers first, so that
 * nothing stays suspended.
 */
#include "net/http_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "base/err.h"

enum { MAX_WORKERS = 64, CONNECTION_MEMORY = 32 * 1024 };

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	char *method, *path;
	struct buf body;
	bool refused, done;
	struct http_response response;
	struct http_request *next;
};

struct http_server {
	struct http_server_options opt;
	struct MHD_Daemon *daemon;
	int fd;
	uint16_t port;
	atomic_size_t memory;
	pthread_mutex_t lock;
	pthread_cond_t work;
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
	return MHD_lookup_connection_value(rq->connection, MHD_HEADER_KIND, name);
}

const char *http_request_arg(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_GET_ARGUMENT_KIND, name);
}

const void *http_request_body(const struct http_request *rq, size_t *out_len)
{
	*out_len = rq->body.len;
	return rq->body.data;
}

static void request_free(struct http_request *rq)
{
	if (!rq)
		return;
	atomic_fetch_sub(&rq->server->memory, rq->body.len);
	buf_fini(&rq->body);
	buf_fini(&rq->response.body);
	free(rq->method);
	free(rq->path);
	free(rq);
}

DEFINE_FREEP(struct http_request, request_free)

static enum MHD_Result send_response(struct http_request *rq)
{
	struct http_response *rs = &rq->response;
	struct MHD_Response *m;
	enum MHD_Result r;

	if (buf_error(&rs->body)) {
		rs->status = 500;
		rs->body.len = 0;
	}
	m = MHD_create_response_from_buffer(rs->body.len, rs->body.data, MHD_RESPMEM_PERSISTENT);
	if (!m)
		return MHD_NO;
	if (rs->content_type)
		MHD_add_response_header(m, "Content-Type", rs->content_type);
	for (size_t i = 0; i < rs->n_headers; i++)
		MHD_add_response_header(m, rs->headers[i].name, rs->headers[i].value);
	r = MHD_queue_response(rq->connection, (unsigned int)rs->status, m);
	MHD_destroy_response(m);
	return r;
}

static enum MHD_Result refuse(struct http_request *rq, int status, const char *message)
{
	rq->refused = true;
	rq->response.status = status;
	rq->response.content_type = "application/json";
	buf_put_str(&rq->response.body, "{\"code\":\"resource_exhausted\",\"message\":\"");
	buf_put_str(&rq->response.body, message);
	buf_put_str(&rq->response.body, "\"}");
	return send_response(rq);
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *path,
			     const char *method, void **out)
{
	_cleanup_(request_freep) struct http_request *rq = calloc(1, sizeof(*rq));
	const char *len;

	if (!rq)
		return MHD_NO;
	rq->server = s;
	rq->connection = c;
	rq->response.status = 200;
	rq->method = strdup(method);
	rq->path = strdup(path);
	if (!rq->method || !rq->path)
		return MHD_NO;
	*out = rq;
	len = http_request_header(rq, "Content-Length");
	if (len && strtoull(len, NULL, 10) > s->opt.max_body)
		return refuse(steal_ptr(&rq), 413, "the request is too large");
	steal_ptr(&rq);
	return MHD_YES;
}

/* A refusal in the middle of a body is the end of the connection. */
static enum MHD_Result receive(struct http_request *rq, const char *data, size_t *len)
{
	struct http_server *s = rq->server;

	if (rq->refused || rq->body.len + *len > s->opt.max_body)
		return MHD_NO;
	buf_put(&rq->body, data, *len);
	if (buf_error(&rq->body))
		return MHD_NO;
	atomic_fetch_add(&s->memory, *len);
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result dispatch(struct http_request *rq)
{
	struct http_server *s = rq->server;

	if (atomic_load(&s->memory) > s->opt.max_memory)
		return refuse(rq, 429, "too many requests at once");
	MHD_suspend_connection(rq->connection);
	pthread_mutex_lock(&s->lock);
	*s->queue_end = rq;
	s->queue_end = &rq->next;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **own)
{
	struct http_request *rq = *own;

	if (!rq)
		return begin(cls, c, path, method, own);
	if (*len)
		return receive(rq, data, len);
	if (rq->refused)
		return MHD_YES;
	return rq->done ? send_response(rq) : dispatch(rq);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **own,
			 enum MHD_RequestTerminationCode how)
{
	request_free(*own);
	*own = NULL;
}

static void *worker_main(void *arg)
{
	struct http_server *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct http_request *rq;

		while (!s->queue && !s->stop)
			pthread_cond_wait(&s->work, &s->lock);
		rq = s->queue;
		if (!rq)
			break;
		s->queue = rq->next;
		if (!s->queue)
			s->queue_end = &s->queue;
		pthread_mutex_unlock(&s->lock);
		s->opt.handler(s->opt.ctx, rq, &rq->response);
		rq->done = true;
		MHD_resume_connection(rq->connection);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void http_server_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon) {
		int fd = MHD_quiesce_daemon(s->daemon);

		if (fd >= 0)
			s->fd = fd;
	}
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	for (unsigned int i = 0; i < s->n_workers; i++)
		pthread_join(s->workers[i], NULL);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	closep(&s->fd);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->work);
	free(s);
}

static int listen_at(struct http_server *s, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	struct addrinfo *ai = NULL;
	char port[8];
	int r, on = 1;

	snprintf(port, sizeof(port), "%u", s->opt.port);
	r = getaddrinfo(s->opt.host, port, &hints, &ai);
	if (r)
		return err_set(err, -EINVAL, "%s: %s", s->opt.host, gai_strerror(r));
	s->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd >= 0)
		setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (s->fd < 0 || bind(s->fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(s->fd, 1024) < 0 ||
	    getsockname(s->fd, (struct sockaddr *)&bound, &len) < 0)
		r = err_set(err, -errno, "%s:%s: %s", s->opt.host, port, strerror(errno));
	freeaddrinfo(ai);
	if (r == 0)
		s->port = ntohs(bound.ss_family == AF_INET6
					? ((struct sockaddr_in6 *)&bound)->sin6_port
					: ((struct sockaddr_in *)&bound)->sin_port);
	return r;
}

static int start(struct http_server *s, struct err *err)
{
	for (; s->n_workers < s->opt.n_workers && s->n_workers < MAX_WORKERS; s->n_workers++)
		if (pthread_create(&s->workers[s->n_workers], NULL, worker_main, s) != 0)
			return err_set(err, -EAGAIN, "can't start threads");
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, s->port, NULL, NULL,
		on_request, s, MHD_OPTION_LISTEN_SOCKET, s->fd, MHD_OPTION_CONNECTION_LIMIT,
		s->opt.max_connections, MHD_OPTION_CONNECTION_TIMEOUT, s->opt.idle_seconds,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!s->daemon)
		return err_set(err, -EIO, "the HTTP server does not start");
	return 0;
}

int http_server_open(struct http_server **out, const struct http_server_options *opt,
		     struct err *err)
{
	_cleanup_(http_server_closep) struct http_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	s->fd = -1;
	s->queue_end = &s->queue;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	r = listen_at(s, err);
	if (r == 0)
		r = start(s, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&s);
	return 0;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}
