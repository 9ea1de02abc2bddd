/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2 implements the protocol. This module turns each stream into a request, queues it for the
 * workers when it is complete, and sends the response. A client may disconnect in the meantime:
 * the stream is then freed when its worker has finished.
 *
 * The memory that a client can occupy is bounded: this module limits concurrent streams and the
 * headers of each, the front those of all clients, http_work limits bodies. While a client has
 * MAX_QUERIES queries at workers, or has not received MAX_UNSENT bytes of responses, its further
 * queries wait. http_outbox limits the responses of all clients.
 *
 * Responses obey the client's windows: nghttp2 calls read_response() for as much as it may send.
 * Floods of frames that make the server work without a request are limited by h2_meter; nghttp2
 * limits resets.
 */
#include "net/h2_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nghttp2/nghttp2.h>

#include "base/clock.h"
#include "base/vec.h"
#include "net/deadline.h"
#include "net/h2_fields.h"
#include "net/h2_meter.h"
#include "net/h2_setup.h"
#include "net/http_outbox.h"
#include "net/http_work.h"
#include "net/name_values.h"

enum {
	MAX_HEADERS = 64,
	MAX_ARGS = 64,
	MAX_UNSENT = 4 << 20,
	MAX_QUERIES = 24,   /* as many as may run with ClickHouse */
	STREAM_HELD = 2048, /* estimate: memory of a stream with its request, without texts */
	FIELD_HELD = 96,    /* the same of a field of its headers */
};

/*
 * rq is NULL until the headers are complete. The stream is freed when both the protocol and the
 * worker have finished with it.
 */
struct stream {
	struct h2_session *session;
	int32_t id;
	struct http_request *rq;
	char *method, *target;
	struct name_values headers, args;
	size_t header_bytes, sent, held;
	size_t unsent;          /* bytes of its response, until the stream is freed */
	unsigned int n_cookies; /* fields */
	int64_t since_ms;       /* when the request began, or its response */
	bool working;           /* a worker has the request */
	bool awaiting;          /* that worker decides about the admission */
	bool complete;          /* the request has ended */
	bool is_query;          /* its response may be large */
	bool waits;             /* until the client has received other responses */
	bool closed;            /* by the client or nghttp2 */
	struct stream *next;
};

struct h2_session {
	nghttp2_session *h2;
	struct http_peer peer;
	struct http_work *work;
	h2_done_fn done;
	void *ctx;
	struct stream *streams;
	size_t n_working, n_awaiting, n_open;
	struct http_outbox outbox;
	struct h2_meter meter;
	size_t unsent; /* of all streams */
	size_t held;   /* estimate: memory of all streams without bodies and responses */
	bool is_gone;  /* the client */
};

static void hold(struct stream *st, size_t bytes)
{
	st->held += bytes;
	st->session->held += bytes;
}

static void stream_free(struct stream *st)
{
	struct stream **at = &st->session->streams;

	while (*at && *at != st)
		at = &(*at)->next;
	if (*at)
		*at = st->next;
	st->session->unsent -= st->unsent;
	st->session->held -= st->held;
	http_outbox_remove(&st->session->outbox, st->unsent);
	http_request_free(st->rq);
	name_values_fini(&st->headers);
	name_values_fini(&st->args);
	free(st->method);
	free(st->target);
	free(st);
}

/* Requests */

static const char *stream_header(const struct http_request *rq, const char *name)
{
	const struct stream *st = rq->connection;

	return name_values_find(&st->headers, name);
}

static const char *stream_arg(const struct http_request *rq, const char *name)
{
	const struct stream *st = rq->connection;

	return name_values_find(&st->args, name);
}

static void stream_each_arg(const struct http_request *rq, http_arg_fn fn, void *ctx)
{
	const struct stream *st = rq->connection;

	for (size_t i = 0; i < st->args.len; i++)
		fn(ctx, st->args.data[i].name, st->args.data[i].value);
}

static void stream_finish(struct http_request *rq)
{
	const struct stream *st = rq->connection;

	st->session->done(st->session->ctx, rq);
}

static const struct http_connection_ops ops = { stream_header, stream_arg, stream_each_arg,
						stream_finish };

/* Creates the request when its headers are complete. */
static int make_request(struct stream *st)
{
	char *query;

	if (!st->method || !st->target)
		return -EPROTO;
	query = strchr(st->target, '?');
	if (query) {
		*query++ = 0;
		if (name_values_add_query(&st->args, query, MAX_ARGS) < 0)
			return -ENOMEM;
	}
	name_values_unescape(st->target, false);
	st->rq = http_request_new(st->session->work, st->method, st->target, &ops, st);
	if (!st->rq)
		return -ENOMEM;
	st->rq->peer = st->session->peer;
	return 0;
}

/* Responses */

/* Values live in the response until the stream is freed. */
static void send_trailers(struct stream *st)
{
	const struct http_response *rs = &st->rq->response;
	struct h2_fields f = { .n = 0 };

	for (size_t i = 0; i < rs->n_trailers; i++)
		h2_fields_add(&f, rs->trailers[i].name, rs->trailers[i].value);
	nghttp2_submit_trailer(st->session->h2, st->id, f.nv, f.n);
}

/*
 * Copies the next part of the response body into a frame of nghttp2. Trailers must be submitted
 * before the last part is returned. NO_END_STREAM announces to nghttp2 that trailers follow.
 */
static ssize_t read_response(nghttp2_session *h2, int32_t id, uint8_t *to, size_t room,
			     uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct stream *st = source->ptr;
	const struct buf *body = &st->rq->response.body;
	size_t n = body->len - st->sent;

	n = n < room ? n : room;
	if (n)
		memcpy(to, body->data + st->sent, n);
	st->sent += n;
	http_outbox_sent(&st->session->outbox, n);
	if (st->sent < body->len)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (st->rq->response.n_trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		send_trailers(st);
	}
	return (ssize_t)n;
}

static void submit(struct stream *st)
{
	const struct http_response *rs = &st->rq->response;
	const nghttp2_data_provider data = { .source.ptr = st, .read_callback = read_response };
	struct h2_fields f = { .n = 0 };
	char status[12];

	st->since_ms = clock_monotonic_ms();
	if (buf_error(&rs->body)) {
		st->rq->response.status = 500;
		st->rq->response.body.len = 0;
	}
	st->unsent = rs->body.len;
	st->session->unsent += st->unsent;
	http_outbox_add(&st->session->outbox, st->unsent);
	snprintf(status, sizeof(status), "%d", rs->status);
	h2_fields_add(&f, ":status", status);
	if (rs->content_type)
		h2_fields_add(&f, "content-type", rs->content_type);
	for (size_t i = 0; i < rs->n_headers; i++)
		h2_fields_add(&f, rs->headers[i].name, rs->headers[i].value);
	nghttp2_submit_response(st->session->h2, st->id, f.nv, f.n, &data);
}

/*
 * Responds without a worker. gRPC clients need status 200 and the error in trailers. The client may
 * still be sending its body, which is then ignored.
 */
static void refuse(struct stream *st, enum http_refusal why, int status, const char *message,
		   unsigned int retry_s)
{
	const char *type = name_values_find(&st->headers, "content-type");

	http_request_refuse(st->rq, why, status, message, retry_s);
	if (type && !strncmp(type, "application/grpc", 16)) {
		st->rq->response.status = 200;
		st->rq->response.content_type = "application/grpc";
		st->rq->response.body.len = 0;
		http_response_add_trailer(&st->rq->response, "grpc-status",
					  http_refusal_grpc_status(status));
		http_response_add_trailer(&st->rq->response, "grpc-message", message);
	}
	submit(st);
}

/* Returns true if a query must wait until its client has received other responses. */
static bool must_wait(const struct h2_session *s)
{
	unsigned int n = 0;

	for (const struct stream *st = s->streams; st; st = st->next)
		n += st->working && st->is_query;
	return s->unsent >= MAX_UNSENT || n >= MAX_QUERIES;
}

/*
 * Queues the complete request of a stream for a worker. While it waits for the client, its body can
 * still be dropped in favour of other clients.
 */
static void dispatch(struct stream *st)
{
	struct http_queue_refusal q;
	int r;

	if (st->rq->refused || st->working)
		return;
	st->is_query = http_request_is_query(st->rq);
	st->waits = st->is_query && must_wait(st->session);
	if (st->waits)
		return;
	if (!http_request_complete(st->rq)) {
		refuse(st, HTTP_REFUSED_MEMORY, 429, "too many concurrent requests", 1);
		return;
	}
	st->working = true;
	st->session->n_working++;
	r = http_work_put(st->rq);
	if (r == 0)
		return;
	st->working = false;
	st->session->n_working--;
	q = http_queue_refusal(st->rq, r);
	refuse(st, q.why, q.status, q.message, 1);
}

/* Frees a stream that is over, and queues the first request that waits. */
static void end_stream(struct stream *st)
{
	struct h2_session *s = st->session;
	struct stream *first = NULL;

	stream_free(st);
	for (st = s->streams; st; st = st->next)
		if (st->waits && (!first || st->id < first->id))
			first = st;
	if (first && !s->is_gone)
		dispatch(first);
}

/* Refuses a request before its body arrives, or continues with it. */
static void admitted(struct stream *st)
{
	const struct http_admission *a = &st->rq->admission;

	if (http_request_admitted(st->rq))
		refuse(st, HTTP_REFUSED_REQUEST, a->status, a->message, a->retry_s);
	else if (st->complete)
		dispatch(st);
}

static void await_admission(struct stream *st)
{
	st->working = true;
	st->awaiting = true;
	st->session->n_working++;
	st->session->n_awaiting++;
	if (http_request_await_admission(st->rq) < 0)
		h2_session_respond(st->rq);
}

void h2_session_respond(struct http_request *rq)
{
	struct stream *st = rq->connection;
	bool was_awaiting = st->awaiting;

	st->working = false;
	st->awaiting = false;
	st->session->n_working--;
	st->session->n_awaiting -= was_awaiting;
	if (st->closed || st->session->is_gone)
		end_stream(st);
	else if (was_awaiting)
		admitted(st);
	else
		submit(st);
}

/* Creates the request when its headers are complete. */
static int begin(struct stream *st)
{
	int r = make_request(st);

	if (r < 0)
		return r;
	if (http_request_admit(st->rq) == -EINPROGRESS)
		await_admission(st);
	else
		admitted(st);
	return 0;
}

/* Callbacks of nghttp2 */

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct h2_session *s = ctx;
	struct stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	st = calloc(1, sizeof(*st));
	if (!st)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	st->session = s;
	st->id = frame->hd.stream_id;
	st->since_ms = clock_monotonic_ms();
	st->next = s->streams;
	s->streams = st;
	s->n_open++;
	hold(st, STREAM_HELD);
	nghttp2_session_set_stream_user_data(h2, st->id, st);
	return 0;
}

/*
 * Bounds the headers of a stream. A stream over the limits is reset, its connection stays. Browsers
 * may split the list of cookies into several fields (RFC 9113, 8.2.3).
 */
static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	char **own = NULL;

	if (!st || st->rq) /* trailers of requests are ignored */
		return 0;
	st->header_bytes += name_len + value_len;
	if (st->header_bytes > H2_MAX_HEADER_BYTES || st->headers.len == MAX_HEADERS)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	hold(st, name_len + value_len + FIELD_HELD);
	if (name_len == 7 && !memcmp(name, ":method", 7))
		own = &st->method;
	else if (name_len == 5 && !memcmp(name, ":path", 5))
		own = &st->target;
	if (name_len == 6 && !memcmp(name, "cookie", 6))
		return st->n_cookies++ == MAX_HEADERS ||
				       name_values_join(&st->headers, "cookie", "; ",
							(const char *)value, value_len) < 0
			       ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
			       : 0;
	if (own && !*own)
		*own = strndup((const char *)value, value_len);
	else if (name_values_add(&st->headers, (const char *)name, name_len, (const char *)value,
				 value_len) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

/* END_STREAM may come with the headers (a GET) or with data. */
static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	st = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	if (!st)
		return 0;
	if (!st->rq && begin(st) < 0)
		return nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, st->id,
						 NGHTTP2_INTERNAL_ERROR);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		st->complete = true;
		dispatch(st);
	}
	return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
		   void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2, id);

	if (!st || !st->rq || st->rq->refused)
		return 0;
	if (http_request_receive(st->rq, data, len) < 0)
		refuse(st, HTTP_REFUSED_BODY, 413, "request is too large", 0);
	return 0;
}

/*
 * The stream has ended, possibly before its response. A request at a worker is freed by
 * h2_session_respond().
 */
static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2, id);

	if (!st)
		return 0;
	nghttp2_session_set_stream_user_data(h2, id, NULL);
	st->session->n_open--;
	st->closed = true;
	if (st->working)
		atomic_store(&st->rq->abandoned, true);
	else
		end_stream(st);
	return 0;
}

static const struct h2_callbacks callbacks = { on_begin_headers, on_header, on_frame, on_data,
					       on_close };

int h2_session_new(struct h2_session **out, struct http_work *work, const struct http_peer *peer,
		   h2_done_fn done, h2_shut_down_fn shut_down, void *ctx)
{
	_cleanup_(h2_session_freep) struct h2_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->work = work;
	s->peer = *peer;
	s->done = done;
	s->ctx = ctx;
	s->outbox = (struct http_outbox){ .all = http_work_outboxes(work),
					  .shut_down = shut_down,
					  .connection = ctx };
	h2_meter_init(&s->meter, clock_monotonic_ms());
	r = h2_setup(&s->h2, &callbacks, s);
	if (r == 0)
		*out = steal_ptr(&s);
	return r;
}

void h2_session_free(struct h2_session *s)
{
	if (!s)
		return;
	h2_session_abandon(s);
	nghttp2_session_del(s->h2);
	free(s);
}

int h2_session_feed(struct h2_session *s, const void *data, size_t len)
{
	ssize_t n;

	if (!h2_meter_feed(&s->meter, data, len, clock_monotonic_ms()))
		return -EPROTO;
	n = nghttp2_session_mem_recv(s->h2, data, len);
	if (n == NGHTTP2_ERR_NOMEM)
		return -ENOMEM;
	return n < 0 ? -EPROTO : 0;
}

ssize_t h2_session_take(struct h2_session *s, const uint8_t **out)
{
	ssize_t n = nghttp2_session_mem_send(s->h2, out);

	return n < 0 ? -EPROTO : n;
}

void h2_session_sent(struct h2_session *s, size_t len)
{
	h2_meter_sent(&s->meter, len);
}

void *h2_session_ctx(const struct http_request *rq)
{
	const struct stream *st = rq->connection;

	return st->session->ctx;
}

void h2_session_abandon(struct h2_session *s)
{
	struct stream *next;

	s->is_gone = true;
	http_outbox_leave(&s->outbox);
	for (struct stream *st = s->streams; st; st = next) {
		next = st->next;
		if (st->working)
			atomic_store(&st->rq->abandoned, true);
		else
			stream_free(st);
	}
}

size_t h2_session_held(const struct h2_session *s)
{
	return s->held;
}

size_t h2_session_working(const struct h2_session *s)
{
	return s->n_working;
}

bool h2_session_is_paused(const struct h2_session *s)
{
	return s->n_awaiting > 0;
}

size_t h2_session_open(const struct h2_session *s)
{
	return s->n_open;
}

bool h2_session_has_asked(const struct h2_session *s)
{
	return !s->n_open && nghttp2_session_get_last_proc_stream_id(s->h2) > 0;
}

static bool is_late(const struct stream *st, unsigned int idle_seconds, int64_t now_ms)
{
	bool responding = st->rq && (st->rq->refused || st->rq->done);
	size_t bytes = !st->rq      ? 0
		       : responding ? st->rq->response.body.len
				    : http_request_received(st->rq);

	return !st->working && !st->waits && !st->closed &&
	       deadline_is_over(st->since_ms, bytes, idle_seconds, now_ms);
}

bool h2_session_is_late(const struct h2_session *s, unsigned int idle_seconds, int64_t now_ms)
{
	for (const struct stream *st = s->streams; st; st = st->next)
		if (is_late(st, idle_seconds, now_ms))
			return true;
	return false;
}

bool h2_session_ended(const struct h2_session *s)
{
	return !nghttp2_session_want_read(s->h2) && !nghttp2_session_want_write(s->h2);
}

void h2_session_end(struct h2_session *s)
{
	nghttp2_session_terminate_session(s->h2, NGHTTP2_NO_ERROR);
}
