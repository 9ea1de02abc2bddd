/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd's one thread does all input and output of HTTP/1 with epoll. A
 * request whose body is complete is suspended and queued; a worker fills in the
 * response and resumes it. The server is closed in that order: workers first, so
 * that nothing stays suspended.
 */
#include "net/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "base/err.h"
#include "net/front.h"
#include "net/h2_tls.h"
#include "net/http_work.h"

enum { CONNECTION_MEMORY = 32 * 1024 };

struct http_server {
	struct http_server_options opt;
	struct MHD_Daemon *daemon;
	struct http_work *work;
	struct front *front;
	struct h2_tls *tls;
	uint16_t port, grpc_port;
};

static const char *mhd_header(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_HEADER_KIND, name);
}

static const char *mhd_arg(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_GET_ARGUMENT_KIND, name);
}

static void mhd_finish(struct http_request *rq)
{
	MHD_resume_connection(rq->connection);
}

static const struct http_connection_ops ops = { mhd_header, mhd_arg, mhd_finish };

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
	http_request_refuse(rq, status, message);
	return send_response(rq);
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *path,
			     const char *method, void **out)
{
	struct http_request *rq = http_request_new(s->work, method, path, &ops, c);
	const char *len;

	if (!rq)
		return MHD_NO;
	*out = rq;
	len = http_request_header(rq, "Content-Length");
	if (len && strtoull(len, NULL, 10) > s->opt.max_body)
		return refuse(rq, 413, "the request is too large");
	return MHD_YES;
}

/* A refusal in the middle of a body is the end of the connection. */
static enum MHD_Result receive(struct http_request *rq, const char *data, size_t *len)
{
	if (rq->refused || http_request_receive(rq, data, *len) < 0)
		return MHD_NO;
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result dispatch(struct http_request *rq)
{
	if (http_work_is_full(rq->work))
		return refuse(rq, 429, "too many requests at once");
	MHD_suspend_connection(rq->connection);
	http_work_put(rq);
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
	http_request_free(*own);
	*own = NULL;
}

/* A connection that is not HTTP/2. */
static void take_connection(void *ctx, int fd, const struct sockaddr *addr, socklen_t len)
{
	struct http_server *s = ctx;

	/* it closes what it does not take */
	MHD_add_connection(s->daemon, fd, addr, len);
}

void http_server_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->front)
		front_quiesce(s->front);
	if (s->work)
		http_work_stop(s->work);
	front_close(s->front);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	http_work_close(s->work);
	h2_tls_free(s->tls);
	free(s);
}

static int start_daemon(struct http_server *s, struct err *err)
{
	const bool tls = s->opt.tls_cert != NULL;
	struct MHD_OptionItem secrets[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)s->opt.tls_cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)s->opt.tls_key },
		{ MHD_OPTION_END, 0, NULL },
	};

	if (tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err_set(err, -ENOTSUP, "this libmicrohttpd has no TLS");
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY, tls ? secrets : secrets + 2,
		MHD_OPTION_CONNECTION_LIMIT, s->opt.max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
		s->opt.idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (s->daemon)
		return 0;
	return err_set(err, -EIO, "the HTTP server does not start%s",
		       tls ? ": are these a certificate and its key?" : "");
}

static int listen_all(struct http_server *s, struct err *err)
{
	const struct front_options opt = { .work = s->work,
					   .max_connections = s->opt.max_connections,
					   .idle_seconds = s->opt.idle_seconds,
					   .tls = s->tls,
					   .other = take_connection,
					   .ctx = s };
	int r = front_open(&s->front, &opt, err);

	if (r == 0)
		r = front_listen(s->front, s->opt.host, s->opt.port, &s->port, err);
	if (r == 0 && s->opt.grpc_host)
		r = front_listen(s->front, s->opt.grpc_host, s->opt.grpc_port, &s->grpc_port, err);
	return r;
}

int http_server_open(struct http_server **out, const struct http_server_options *opt,
		     struct err *err)
{
	_cleanup_(http_server_closep) struct http_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	r = http_work_open(&s->work, opt);
	if (r < 0)
		return err_set(err, r, "can't start threads");
	if (opt->tls_cert)
		r = h2_tls_new(&s->tls, opt->tls_cert, opt->tls_key, err);
	if (r == 0)
		r = listen_all(s, err);
	if (r == 0)
		r = start_daemon(s, err);
	if (r == 0)
		r = front_start(s->front, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&s);
	return 0;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

uint16_t http_server_grpc_port(const struct http_server *s)
{
	return s->grpc_port;
}
