/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of libmicrohttpd does all HTTP/1 input and output with epoll. A request whose body
 * is complete is suspended and queued; a worker fills in the response and resumes it. Closing
 * stops the workers first, so that no request remains suspended, and then waits until the thread
 * has sent their responses: MHD_stop_daemon() would close the connections before that.
 *
 * libmicrohttpd parses HTTP/1; it neither listens nor encrypts, since the front decides which
 * server gets a connection and carries what is encrypted through a relay. Its memory per connection
 * is limited to HTTP1_TARGET_MEMORY, which also limits headers.
 */
#include "net/http_server.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "net/front.h"
#include "net/http1_guard.h"
#include "net/http1_target.h"
#include "net/http_outbox.h"
#include "net/http_pool.h"
#include "net/http_work.h"
#include "net/name_values.h"
#include "net/peers.h"
#include "net/tls.h"

enum {
	LAST_RESPONSES_S = 5, /* that closing waits for clients which do not read */
	BLOCK_LEN = 64 * 1024,
};

struct http_server {
	struct http_server_options opt;
	struct MHD_Daemon *daemon;
	struct http_work *work;
	struct http1_guard *guard;
	struct front *front;
	struct tls *tls;
	struct peers peers; /* of the connections that libmicrohttpd has */
	uint16_t port, grpc_port;
	pthread_mutex_t lock; /* guards n_unanswered */
	pthread_cond_t answered;
	size_t n_unanswered; /* HTTP/1 requests passed to workers whose response is not sent */
};

static const char *mhd_header(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_HEADER_KIND, name);
}

static const char *mhd_arg(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct each_arg {
	http_arg_fn fn;
	void *ctx;
};

static enum MHD_Result pass_arg(void *cls, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	const struct each_arg *e = cls;

	e->fn(e->ctx, name, value ? value : "");
	return MHD_YES;
}

static void mhd_each_arg(const struct http_request *rq, http_arg_fn fn, void *ctx)
{
	struct each_arg e = { fn, ctx };

	MHD_get_connection_values(rq->connection, MHD_GET_ARGUMENT_KIND, pass_arg, &e);
}

static void mhd_finish(struct http_request *rq)
{
	MHD_resume_connection(rq->connection);
}

static const struct http_connection_ops ops = { mhd_header, mhd_arg, mhd_each_arg, mhd_finish };

static int descriptor_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* libmicrohttpd closes the socket after on_completed(), where the outbox leaves. */
static void shut_down(void *connection)
{
	shutdown(descriptor_of(connection), SHUT_RDWR);
}

/* Called when the block before has been sent. */
static ssize_t next_block(void *cls, uint64_t pos, char *to, size_t room)
{
	struct http_request *rq = cls;
	const struct buf *body = &rq->response.body;
	size_t n = body->len - pos < room ? body->len - pos : room;

	http_outbox_sent(&rq->outbox, n);
	memcpy(to, body->data + pos, n);
	return (ssize_t)n;
}

/*
 * The response's buffer stays in the request until the request is freed, so it need not be copied.
 * libmicrohttpd reports progress for blocks only, so a long one is sent in blocks.
 */
static struct MHD_Response *make_response(struct http_request *rq)
{
	const struct buf *body = &rq->response.body;

	if (body->len > BLOCK_LEN)
		return MHD_create_response_from_callback(body->len, BLOCK_LEN, next_block, rq,
							 NULL);
	return MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_response(struct http_server *s, struct http_request *rq)
{
	struct http_response *rs = &rq->response;
	struct MHD_Response *m;
	enum MHD_Result r;

	if (buf_error(&rs->body)) {
		rs->status = 500;
		buf_clear(&rs->body);
	}
	http1_guard_response(s->guard, rq->connection, rs->body.len);
	m = make_response(rq);
	if (!m)
		return MHD_NO;
	rq->outbox = (struct http_outbox){ .all = http_work_outboxes(s->work),
					   .shut_down = shut_down,
					   .connection = rq->connection };
	http_outbox_add(&rq->outbox, rs->body.len);
	if (rs->content_type)
		MHD_add_response_header(m, "Content-Type", rs->content_type);
	for (size_t i = 0; i < rs->n_headers; i++)
		MHD_add_response_header(m, rs->headers[i].name, rs->headers[i].value);
	r = MHD_queue_response(rq->connection, (unsigned int)rs->status, m);
	MHD_destroy_response(m);
	return r;
}

/* The remainder of a refused request is not read, so its connection cannot be used again. */
static enum MHD_Result refuse(struct http_server *s, struct http_request *rq, enum http_refusal why,
			      int status, const char *message, unsigned int retry_s)
{
	http_request_refuse(rq, why, status, message, retry_s);
	http_response_add(&rq->response, "Connection", "close");
	return send_response(s, rq);
}

/* Refuses what the headers suffice to refuse, before the body is sent. */
static enum MHD_Result admitted(struct http_server *s, struct http_request *rq)
{
	const struct http_admission *a = &rq->admission;
	const char *len;

	http1_guard_body(s->guard, rq->connection, 0);
	if (http_request_admitted(rq))
		return refuse(s, rq, HTTP_REFUSED_REQUEST, a->status, a->message, a->retry_s);
	len = http_request_header(rq, "Content-Length");
	if (len && strtoull(len, NULL, 10) > http_request_max_body(rq))
		return refuse(s, rq, HTTP_REFUSED_BODY, 413, "request is too large", 0);
	return MHD_YES;
}

/*
 * A connection that is suspended while its headers are processed stays in that state:
 * libmicrohttpd calls on_request() for the headers again when it is resumed, before the body.
 */
static enum MHD_Result await_admission(struct http_server *s, struct http_request *rq)
{
	rq->is_first_call = true;
	http1_guard_work(s->guard, rq->connection, &rq->abandoned);
	MHD_suspend_connection(rq->connection);
	if (http_request_await_admission(rq) < 0)
		MHD_resume_connection(rq->connection);
	return MHD_YES;
}

static enum MHD_Result begin_again(struct http_server *s, struct http_request *rq)
{
	rq->is_first_call = false;
	return admitted(s, rq);
}

/* Begins a request whose headers are complete. */
static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *c, const char *path,
			     const char *method, const char *version, void **out)
{
	struct http_request *rq = http_request_new(s->work, method, path, &ops, c);
	const bool is_long = http1_target_is_refused(*out);
	const char *message;
	int r;

	*out = rq;
	if (!rq)
		return MHD_NO;
	peers_find(&s->peers, descriptor_of(c), &rq->peer);
	http1_guard_body(s->guard, c, 0);
	r = http1_target_split(rq);
	if (r == -ENOMEM)
		return MHD_NO;
	message = r < 0 ? "the target of the request is not a valid URL"
			: http1_framing_error(c, version);
	if (message)
		return refuse(s, rq, HTTP_REFUSED_REQUEST, 400, message, 0);
	if (is_long)
		return refuse(s, rq, HTTP_REFUSED_REQUEST, 414,
			      "the target of the request has too many arguments", 0);
	return http_request_admit(rq) == -EINPROGRESS ? await_admission(s, rq) : admitted(s, rq);
}

/*
 * Nothing can be answered in the middle of a body, so the connection ends; the refusal is counted.
 */
static enum MHD_Result receive(struct http_server *s, struct http_request *rq, const char *data,
			       size_t *len)
{
	if (rq->refused)
		return MHD_NO;
	if (http_request_receive(rq, data, *len) < 0) {
		http_request_refuse(rq, HTTP_REFUSED_BODY, 413, "request is too large", 0);
		return MHD_NO;
	}
	http1_guard_body(s->guard, rq->connection, http_request_received(rq));
	*len = 0;
	return MHD_YES;
}

/*
 * The connection is suspended before a worker may resume it. A request that no queue accepts is
 * resumed with its refusal.
 */
static enum MHD_Result dispatch(struct http_server *s, struct http_request *rq)
{
	int r;

	if (!http_request_complete(rq))
		return refuse(s, rq, HTTP_REFUSED_MEMORY, 429, "too many concurrent requests", 1);
	pthread_mutex_lock(&s->lock);
	s->n_unanswered++;
	pthread_mutex_unlock(&s->lock);
	http1_guard_work(s->guard, rq->connection, &rq->abandoned);
	MHD_suspend_connection(rq->connection);
	r = http_work_put(rq);
	if (r < 0) {
		const struct http_queue_refusal q = http_queue_refusal(rq, r);

		http_request_refuse(rq, q.why, q.status, q.message, 1);
		rq->done = true;
		MHD_resume_connection(rq->connection);
	}
	return MHD_YES;
}

/*
 * libmicrohttpd calls it for the headers, for each part of the body, once for the end, and again
 * after a resume.
 */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **own)
{
	struct http_server *s = cls;
	struct http_request *rq = *own;

	if (!rq || http1_target_is_refused(rq))
		return begin(s, c, path, method, version, own);
	if (rq->is_first_call)
		return begin_again(s, rq);
	if (*len)
		return receive(s, rq, data, len);
	if (rq->done)
		return send_response(s, rq);
	return rq->refused ? MHD_YES : dispatch(s, rq);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **own,
			 enum MHD_RequestTerminationCode how)
{
	struct http_request *rq = http1_target_is_refused(*own) ? NULL : *own;
	struct http_server *s = cls;

	if (rq && rq->done) {
		pthread_mutex_lock(&s->lock);
		s->n_unanswered--;
		pthread_cond_signal(&s->answered);
		pthread_mutex_unlock(&s->lock);
	}
	http1_guard_over(s->guard, c);
	http_request_free(rq);
	*own = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *c, void **own,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = cls;
	struct http_peer peer;

	if (what != MHD_CONNECTION_NOTIFY_STARTED) {
		http1_guard_closed(s->guard, own);
		return;
	}
	peers_find(&s->peers, descriptor_of(c), &peer);
	http1_guard_opened(s->guard, c, &peer, own);
}

static void on_sweep(void *ctx, int64_t now_ms)
{
	struct http_server *s = ctx;

	http1_guard_sweep(s->guard, now_ms);
	http_outboxes_sweep(http_work_outboxes(s->work), now_ms);
}

static void each_idle(void *ctx, make_room_fn fn, void *fn_ctx)
{
	struct http_server *s = ctx;

	http1_guard_each_idle(s->guard, fn, fn_ctx);
}

static size_t n_others(void *ctx, size_t *out_closing)
{
	struct http_server *s = ctx;
	const struct http1_guard_count n = http1_guard_count(s->guard);

	*out_closing = n.closing;
	return n.open + n.expected;
}

/* Takes a connection that is not HTTP/2. */
static void take_connection(void *ctx, int fd, const struct http_peer *peer)
{
	struct http_server *s = ctx;

	if (peers_put(&s->peers, fd, peer) < 0) {
		close(fd);
		return;
	}
	http1_guard_expect(s->guard);
	/* MHD closes the socket if it refuses it. */
	MHD_add_connection(s->daemon, fd, (const struct sockaddr *)&peer->addr, peer->addr_len);
}

/* Call after the workers have stopped: from then on requests are refused without a worker. */
static void wait_until_answered(struct http_server *s)
{
	const uint64_t until_ns = clock_monotonic_ns() + LAST_RESPONSES_S * 1ull * CLOCK_SECOND_NS;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (s->n_unanswered && r == 0)
		r = thread_wait_until(&s->answered, &s->lock, until_ns);
	pthread_mutex_unlock(&s->lock);
}

void http_server_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->front)
		front_quiesce(s->front);
	if (s->work)
		http_work_stop(s->work);
	wait_until_answered(s); /* with TLS, answers reach their clients through the front */
	front_close(s->front);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	http_work_close(s->work);
	http1_guard_free(s->guard);
	tls_free(s->tls);
	peers_fini(&s->peers);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->answered);
	free(s);
}

/* Paths and arguments are decoded as in HTTP/2: %00 stays unchanged, and does not end a text. */
static size_t unescape(void *ctx, struct MHD_Connection *c, char *text)
{
	name_values_unescape(text, false);
	return strlen(text);
}

/*
 * The front limits the number of connections. libmicrohttpd 0.9.75 never unlocks a mutex when it
 * reaches its own limit, and then serves nobody.
 */
static int start_daemon(struct http_server *s, struct err *err)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET,
		0, NULL, NULL, on_request, s, MHD_OPTION_CONNECTION_LIMIT, UINT_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, s->opt.idle_seconds,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP1_TARGET_MEMORY,
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK,
		http1_target_check, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, s, MHD_OPTION_END);
	if (s->daemon)
		return 0;
	return err_set(err, -EIO, "cannot start the HTTP server");
}

static int listen_all(struct http_server *s, struct err *err)
{
	const struct front_options opt = { .work = s->work,
					   .max_connections = s->opt.max_connections,
					   .idle_seconds = s->opt.idle_seconds,
					   .max_headers = s->opt.max_headers,
					   .tls = s->tls,
					   .other = take_connection,
					   .sweep = on_sweep,
					   .each_idle = each_idle,
					   .n_others = n_others,
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
	const struct tls_files files = { opt->tls_cert, opt->tls_key, opt->tls_client_ca };
	int r;

	if (!s)
		return -ENOMEM;
	s->opt = *opt;
	peers_init(&s->peers);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->answered, NULL);
	s->guard = http1_guard_new(opt->idle_seconds);
	if (!s->guard)
		return -ENOMEM;
	r = http_work_open(&s->work, opt);
	if (r < 0)
		return err_set(err, r, "cannot start the HTTP worker threads: %s", strerror(-r));
	if (opt->tls_cert)
		r = tls_new(&s->tls, &files, err);
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

int http_server_reload_tls(struct http_server *s, const char *cert, const char *key,
			   const char *client_ca, struct err *err)
{
	const struct tls_files files = { cert, key, client_ca };

	return tls_reload(s->tls, &files, err);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

uint16_t http_server_grpc_port(const struct http_server *s)
{
	return s->grpc_port;
}

struct http_pool_state http_server_pool_state(const struct http_server *s, unsigned int pool)
{
	return http_work_pool_state(s->work, pool);
}
