/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole server with clients of HTTP/1 and HTTP/2, and with peers that speak neither.
 *
 * covers: src/net/front.c src/net/h2_session.c src/net/http_work.c
 */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "net/http_client.h"
#include "net/http_pool.h"
#include "tests/test.h"

enum { MAX_BODY = 100000, SMALL_BODY = 10, LARGE = 8 << 20 };

struct scene {
	struct http_server *server;
	atomic_int refused; /* the last status refused before the handler */
	atomic_int why;
	atomic_int abandoned; /* handlers that noticed the end of their client */
	atomic_int handled;
	atomic_int running; /* handlers that wait in /wait */
	atomic_int held;    /* tokens of requests that were begun and not released */
	atomic_int unread;  /* clients that were disconnected because they do not read */
	atomic_bool go;
	char block[4096];
};

/* Repeats the request in the response. /wait waits until it may continue, /trailer adds one. */
static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const char *header = http_request_header(rq, "X-Test"), *arg = http_request_arg(rq, "a");
	struct scene *s = ctx;
	const void *body;
	size_t len;

	if (!strcmp(http_request_path(rq), "/wait")) {
		atomic_fetch_add(&s->running, 1);
		while (!atomic_load(&s->go))
			usleep(1000);
	}
	if (!strcmp(http_request_path(rq), "/move") && http_request_pool(rq) == 0 &&
	    http_request_move(rq, 2)) {
		buf_put_str(&rs->body, "not sent");
		http_response_add(rs, "X-Answer", "no");
		return;
	}
	if (!strcmp(http_request_path(rq), "/endless")) {
		atomic_fetch_add(&s->running, 1);
		while (!http_request_is_abandoned(rq))
			usleep(1000);
		atomic_fetch_add(&s->abandoned, 1);
	}
	if (!strcmp(http_request_path(rq), "/large"))
		for (int i = 0; i < LARGE; i += (int)sizeof(s->block))
			buf_put(&rs->body, s->block, sizeof(s->block));
	atomic_fetch_add(&s->handled, 1);
	if (!strcmp(http_request_path(rq), "/trailer"))
		http_response_add_trailer(rs, "grpc-status", "7");
	rs->content_type = "text/x";
	http_response_add(rs, "X-Answer", "yes");
	buf_printf(&rs->body, "%s %s a=%s x=%s ", http_request_method(rq), http_request_path(rq),
		   arg ? arg : "-", header ? header : "-");
	body = http_request_body(rq, &len);
	buf_put(&rs->body, body, len);
}

static void on_refused(void *ctx, const struct http_request *rq, enum http_refusal why, int status)
{
	struct scene *s = ctx;

	atomic_store(&s->why, (int)why);
	atomic_store(&s->refused, status);
}

/* Pool 0 has most requests; pool 1 has one thread and room for one request; 2 is for queries. */
static const struct http_pool_options pools[] = {
	{ .name = "test", .n_workers = 4, .max_queue = 100 },
	{ .name = "small", .n_workers = 1, .max_queue = 1 },
	{ .name = "query", .n_workers = 1, .max_queue = 100, .is_query = true },
};

static void admit(void *ctx, const struct http_request *rq, bool may_block,
		  struct http_admission *out)
{
	const char *pool = http_request_header(rq, "X-Pool");

	out->pool = pool ? (unsigned int)atoi(pool) : 0;
	out->later = !strncmp(http_request_path(rq), "/later", 6) && !may_block;
	if (!strcmp(http_request_path(rq), "/later-refused") && may_block) {
		out->status = 401;
		out->message = "not here";
	}
	out->no_body = !strcmp(http_request_path(rq), "/no-body");
	out->max_body = !strcmp(http_request_path(rq), "/small-body") ? SMALL_BODY : 0;
	if (!strcmp(http_request_path(rq), "/large"))
		snprintf(out->group, sizeof(out->group), "one");
}

/* A group may have one request at a time. */
static void begin_request(void *ctx, const struct http_request *rq, struct http_admission *out)
{
	struct scene *s = ctx;
	int held = 0;

	assert_string_equal(out->group, "one");
	if (atomic_compare_exchange_strong(&s->held, &held, 1)) {
		out->token = &s->held;
	} else {
		out->status = 429;
		out->message = "not now";
	}
}

static void release(void *ctx, void *token)
{
	atomic_fetch_sub((atomic_int *)token, 1);
}

static void on_unread(void *ctx)
{
	atomic_fetch_add(&((struct scene *)ctx)->unread, 1);
}

static void begin(struct scene *s, const struct http_server_options *with)
{
	struct http_server_options opt = { .host = "127.0.0.1",
					   .pools = pools,
					   .n_pools = 3,
					   .admit = admit,
					   .max_connections = 100,
					   .idle_seconds = 600,
					   .max_body = MAX_BODY,
					   .max_memory = 10 * MAX_BODY,
					   .handler = handle,
					   .refused = on_refused,
					   .begin = begin_request,
					   .released = release,
					   .unread = on_unread,
					   .ctx = s };
	struct err err = { 0 };

	*s = (struct scene){ 0 };
	if (with) {
		opt.grpc_host = with->grpc_host;
		opt.max_connections =
			with->max_connections ? with->max_connections : opt.max_connections;
		opt.idle_seconds = with->idle_seconds ? with->idle_seconds : opt.idle_seconds;
		opt.max_memory = with->max_memory ? with->max_memory : opt.max_memory;
		opt.max_unsent = with->max_unsent;
	}
	if (http_server_open(&s->server, &opt, &err) < 0)
		fail_msg("%s", err.msg);
}

static void end(struct scene *s)
{
	http_server_close(s->server);
}

/* One request by HTTP/1 or HTTP/2 as text: "STATUS BODY", or "error" without a response. */
static const char *ask(uint16_t port, bool http2, const char *path, const char *body, size_t len)
{
	const char *headers[] = { "X-Test: t", "Expect:" };
	const struct http_client_options opt = { .http2_only = http2, .timeout_ms = 120000 };
	struct http_client_response answer = { 0 };
	struct http_client *c = NULL;
	struct http_client_request rq = {
		.headers = headers, .n_headers = 2, .body = body, .body_len = len
	};
	static char text[400];
	char url[200];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, path);
	rq.url = url;
	assert_int_equal(http_client_new(&c, &opt, NULL), 0);
	snprintf(text, sizeof(text), "error");
	if (http_client_do(c, &rq, &answer, NULL) == 0)
		snprintf(text, sizeof(text), "%d %.*s", answer.status,
			 answer.body.len < 300 ? (int)answer.body.len : 300,
			 answer.body.len ? (const char *)answer.body.data : "");
	http_client_response_fini(&answer);
	http_client_free(c);
	return text;
}

static void both_protocols_are_served_on_each_port(void **state)
{
	const struct http_server_options with = { .grpc_host = "127.0.0.1" };
	struct scene s;

	begin(&s, &with);
	assert_int_not_equal(http_server_port(s.server), http_server_grpc_port(s.server));
	for (int i = 0; i < 4; i++) {
		uint16_t port =
			i % 2 ? http_server_port(s.server) : http_server_grpc_port(s.server);

		assert_string_equal(ask(port, i < 2, "/p?a=1%202&b=3", "body", 4),
				    "200 POST /p a=1 2 x=t body");
		assert_string_equal(ask(port, i < 2, "/p?b=3", NULL, 0), "200 GET /p a=- x=t ");
	}
	end(&s);
}

static void trailers_are_sent_over_http2(void **state)
{
	const struct http_client_options opt = { .http2_only = true, .timeout_ms = 120000 };
	struct http_client_response answer = { 0 };
	struct http_client *c = NULL;
	struct scene s;
	char url[100];

	begin(&s, NULL);
	assert_int_equal(http_client_new(&c, &opt, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/trailer", http_server_port(s.server));
	for (int i = 0; i < 3; i++) { /* on one connection */
		assert_int_equal(http_client_do(c, &(struct http_client_request){ .url = url },
						&answer, NULL),
				 0);
		assert_string_equal(http_client_response_header(&answer, "Grpc-Status"), "7");
		assert_string_equal(http_client_response_header(&answer, "Content-Type"), "text/x");
		assert_string_equal(http_client_response_header(&answer, "x-answer"), "yes");
	}
	http_client_response_fini(&answer);
	http_client_free(c);
	end(&s);
}

static void the_largest_body_is_accepted_and_no_larger_one(void **state)
{
	char *body = malloc(MAX_BODY + 1);
	struct scene s;

	memset(body, 'b', MAX_BODY + 1);
	begin(&s, NULL);
	for (int http2 = 0; http2 < 2; http2++) {
		atomic_store(&s.refused, 0);
		assert_int_equal(
			strncmp(ask(http_server_port(s.server), http2, "/p", body, MAX_BODY),
				"200 POST /p a=- x=t bbb", 23),
			0);
		assert_int_equal(atomic_load(&s.refused), 0);
		assert_int_equal(
			strncmp(ask(http_server_port(s.server), http2, "/p", body, MAX_BODY + 1),
				"413 {\"code\":\"resource_exhausted\",", 33),
			0);
		assert_int_equal(atomic_load(&s.refused), 413);
	}
	end(&s);
	free(body);
}

static void the_admission_limits_or_discards_a_body(void **state)
{
	const struct http_server_options with = { .max_memory = 50 };
	static char body[MAX_BODY];
	struct scene s;

	memset(body, 'b', sizeof(body));
	begin(&s, &with);
	for (int http2 = 0; http2 < 2; http2++) {
		uint16_t port = http_server_port(s.server);

		/* More than the memory of all bodies, so it is not stored. */
		assert_string_equal(ask(port, http2, "/no-body", body, sizeof(body)),
				    "200 POST /no-body a=- x=t ");
		assert_string_equal(ask(port, http2, "/small-body", body, SMALL_BODY),
				    "200 POST /small-body a=- x=t bbbbbbbbbb");
		assert_int_equal(
			strncmp(ask(port, http2, "/small-body", body, SMALL_BODY + 1), "413 ", 4),
			0);
	}
	end(&s);
}

/* Bodies of several sizes: none, one that arrives with the headers, and one that does not. */
static void a_worker_may_decide_about_the_admission(void **state)
{
	static const size_t sizes[] = { 0, 4, MAX_BODY };
	static char body[MAX_BODY];
	struct scene s;

	memset(body, 'b', sizeof(body));
	begin(&s, NULL);
	for (int i = 0; i < 6; i++) {
		uint16_t port = http_server_port(s.server);
		size_t len = sizes[i / 2];
		char expected[40];

		snprintf(expected, sizeof(expected), "200 %s /later a=- x=t %.*s",
			 len ? "POST" : "GET", len ? 4 : 0, body);
		assert_memory_equal(ask(port, i % 2, "/later", len ? body : NULL, len), expected,
				    strlen(expected));
		atomic_store(&s.handled, 0);
		assert_memory_equal(ask(port, i % 2, "/later-refused", len ? body : NULL, len),
				    "401 ", 4);
		assert_int_equal(atomic_load(&s.refused), 401);
		assert_int_equal(atomic_load(&s.handled), 0);
	}
	end(&s);
}

static void bodies_beyond_the_limit_of_memory_are_refused(void **state)
{
	const struct http_server_options with = { .max_memory = 50 };
	char body[51] = "";
	struct scene s;

	memset(body, 'b', 51);
	begin(&s, &with);
	for (int http2 = 0; http2 < 2; http2++) {
		atomic_store(&s.refused, 0);
		assert_int_equal(
			strncmp(ask(http_server_port(s.server), http2, "/p", body, 51), "429 ", 4),
			0);
		assert_int_equal(atomic_load(&s.refused), 429);
		/* the memory of a refused request is free again */
		assert_int_equal(
			strncmp(ask(http_server_port(s.server), http2, "/p", body, 50), "200 ", 4),
			0);
	}
	end(&s);
}

static int connect_to(const struct scene *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(http_server_port(s->server)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* Reads until @until has come, or until the end if it is NULL. Returns all that came. */
static const char *read_until(int fd, const char *until)
{
	static char text[4000];
	size_t len = 0;
	ssize_t n;

	text[0] = 0;
	while (len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
		len += (size_t)n;
		text[len] = 0;
		if (until && strstr(text, until))
			break;
	}
	return text;
}

/* A POST begins like the preface of HTTP/2, so the first byte does not decide. */
static void a_request_may_arrive_byte_by_byte(void **state)
{
	static const char request[] = "POST /p?a=x HTTP/1.1\r\nHost: h\r\nX-Test: t\r\n"
				      "Transfer-Encoding: chunked\r\n\r\n"
				      "2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n";
	struct scene s;
	int fd;

	begin(&s, NULL);
	fd = connect_to(&s);
	for (size_t i = 0; i < sizeof(request) - 1; i++)
		assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
	assert_non_null(strstr(read_until(fd, " body"), "POST /p a=x x=t body"));
	close(fd);
	end(&s);
}

static void requests_on_one_connection_are_answered_in_turn(void **state)
{
	static const char requests[] = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
				       "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
	const char *text, *first;
	struct scene s;
	int fd;

	begin(&s, NULL);
	fd = connect_to(&s);
	assert_int_equal(send(fd, requests, sizeof(requests) - 1, MSG_NOSIGNAL),
			 sizeof(requests) - 1);
	text = read_until(fd, "GET /2");
	first = strstr(text, "GET /1");
	assert_non_null(first);
	assert_non_null(strstr(first, "GET /2"));
	close(fd);
	end(&s);
}

static void peers_that_do_not_speak_http_are_disconnected(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} peers[] = {
		{ "\0\1\2\3 garbage\r\n\r\n", 16 },
		{ "\x16\x03\x01\x02\x00\x01\r\n\r\n", 10 },
		{ "GET\r\n\r\n", 7 },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff", 33 },
		{ "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 24 },
	};
	/* Bytes that may still become a request are dropped with the idle connection. */
	const struct http_server_options with = { .idle_seconds = 1 };
	struct scene s;

	begin(&s, &with);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		int fd = connect_to(&s);

		assert_int_equal(send(fd, peers[i].bytes, peers[i].len, MSG_NOSIGNAL),
				 peers[i].len);
		assert_null(strstr(read_until(fd, NULL), "200"));
		close(fd);
	}
	/* one that leaves in the middle */
	close(connect_to(&s));
	assert_string_equal(ask(http_server_port(s.server), true, "/p", NULL, 0),
			    "200 GET /p a=- x=t ");
	end(&s);
}

static void an_idle_connection_is_closed_for_one_beyond_the_limit(void **state)
{
	const struct http_server_options with = { .max_connections = 2 };
	struct pollfd idle[2];
	struct scene s;
	int fd[3];

	begin(&s, &with);
	for (int i = 0; i < 3; i++)
		fd[i] = connect_to(&s);
	for (int i = 0; i < 2; i++)
		idle[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	assert_int_equal(poll(idle, 2, -1), 1);
	assert_string_equal(read_until(idle[idle[1].revents != 0].fd, NULL), "");
	(void)send(fd[2], "GET /p HTTP/1.0\r\n\r\n", 19, MSG_NOSIGNAL);
	assert_non_null(strstr(read_until(fd[2], NULL), "GET /p"));
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	end(&s);
}

static void an_idle_connection_is_closed(void **state)
{
	const struct http_server_options with = { .idle_seconds = 1 };
	static const char *const begun[] = { "", "PRI * HT", "GET /p HTTP/1.1\r\n" };
	struct scene s;

	begin(&s, &with);
	for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
		int fd = connect_to(&s);

		assert_int_equal(send(fd, begun[i], strlen(begun[i]), MSG_NOSIGNAL),
				 strlen(begun[i]));
		assert_null(strstr(read_until(fd, NULL), "200"));
		close(fd);
	}
	end(&s);
}

struct asker {
	struct scene *s;
	bool http2;
	char text[64];
	pthread_t thread;
};

static void *ask_wait(void *arg)
{
	struct asker *a = arg;
	const struct http_client_options opt = { .http2_only = a->http2, .timeout_ms = 120000 };
	struct http_client_response answer = { 0 };
	struct http_client *c = NULL;
	char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/wait", http_server_port(a->s->server));
	assert_int_equal(http_client_new(&c, &opt, NULL), 0);
	if (http_client_do(c, &(struct http_client_request){ .url = url }, &answer, NULL) == 0)
		snprintf(a->text, sizeof(a->text), "%d %.*s", answer.status, (int)answer.body.len,
			 (const char *)answer.body.data);
	http_client_response_fini(&answer);
	http_client_free(c);
	return NULL;
}

static void *let_go(void *arg)
{
	struct scene *s = arg;

	usleep(50000);
	atomic_store(&s->go, true);
	return NULL;
}

/* All workers are busy when the server is closed; one request waits for a worker. */
static void requests_in_progress_are_answered_before_the_end(void **state)
{
	struct asker a[4];
	pthread_t thread;
	struct scene s;

	begin(&s, NULL);
	for (int i = 0; i < 4; i++) {
		a[i] = (struct asker){ .s = &s, .http2 = i % 2 };
		assert_int_equal(pthread_create(&a[i].thread, NULL, ask_wait, &a[i]), 0);
	}
	while (atomic_load(&s.running) < 4)
		usleep(1000);
	assert_int_equal(pthread_create(&thread, NULL, let_go, &s), 0);
	end(&s);
	pthread_join(thread, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_join(a[i].thread, NULL);
		assert_string_equal(a[i].text, "200 GET /wait a=- x=- ");
	}
}

static void an_unusable_address_is_refused_with_the_reason(void **state)
{
	struct http_server_options opt = { .host = "256.0.0.1",
					   .pools = pools,
					   .n_pools = 1,
					   .max_connections = 1,
					   .idle_seconds = 1,
					   .handler = handle };
	struct http_server *other = NULL;
	struct err err = { 0 };
	struct scene s;

	begin(&s, NULL);
	assert_int_equal(http_server_open(&other, &opt, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "cannot resolve \"256.0.0.1\""));
	opt.host = "127.0.0.1";
	opt.port = http_server_port(s.server);
	err = (struct err){ 0 };
	assert_int_equal(http_server_open(&other, &opt, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "cannot listen on 127.0.0.1:"));
	opt.port = 0;
	opt.tls_cert = opt.tls_key = "not PEM";
	assert_true(http_server_open(&other, &opt, NULL) < 0);
	assert_null(other);
	end(&s);
}

/* Connects and sends @text. */
static int dial(const struct scene *s, const char *text)
{
	int fd = connect_to(s);

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

static void wait_for(const atomic_int *v, int at_least)
{
	while (atomic_load(v) < at_least)
		usleep(1000);
}

static void wait_for_waiting(const struct scene *s, unsigned int pool, unsigned int n)
{
	while (http_server_pool_state(s->server, pool).n_waiting != n)
		usleep(1000);
}

#define HEAD(path, pool)                                                                           \
	"GET " path " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Pool: " pool "\r\n\r\n"

/* Reads until the server closes; returns the status. */
static int status_at(int fd)
{
	char answer[4096] = "";
	size_t len = 0;
	int status = 0;
	ssize_t n;

	while ((n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0)) > 0)
		len += (size_t)n;
	close(fd);
	sscanf(answer, "HTTP/1.%*c %d", &status);
	return status;
}

static void a_full_queue_refuses_while_other_pools_work(void **state)
{
	struct scene s;
	int running, waiting;

	begin(&s, NULL);
	running = dial(&s, HEAD("/wait", "1"));
	wait_for(&s.running, 1);
	waiting = dial(&s, HEAD("/x", "1"));
	wait_for_waiting(&s, 1, 1);
	assert_int_equal(status_at(dial(&s, HEAD("/x", "1"))), 503);
	assert_int_equal(s.why, HTTP_REFUSED_QUEUE);
	assert_int_equal(status_at(dial(&s, HEAD("/x", "0"))), 200);
	assert_string_equal(ask(http_server_port(s.server), true, "/x", NULL, 0),
			    "200 GET /x a=- x=t ");
	s.go = true;
	assert_int_equal(status_at(running), 200);
	assert_int_equal(status_at(waiting), 200);
	end(&s);
}

static void a_handler_is_called_again_in_the_pool_to_which_it_moves(void **state)
{
	struct scene s;

	begin(&s, NULL);
	for (int http2 = 0; http2 < 2; http2++)
		assert_string_equal(ask(http_server_port(s.server), http2, "/move", NULL, 0),
				    "200 GET /move a=- x=t ");
	end(&s);
}

static void a_handler_notices_that_its_client_has_disconnected(void **state)
{
	static const char h2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
				 "\0\0\17\1\5\0\0\0\1\x82\x86\1\1a\4\10/endless";
	struct scene s;
	int fd;

	begin(&s, NULL);
	fd = dial(&s, HEAD("/endless", "0"));
	wait_for(&s.running, 1);
	close(fd);
	wait_for(&s.abandoned, 1);
	fd = dial(&s, "");
	assert_int_equal(send(fd, h2, sizeof(h2) - 1, 0), (ssize_t)sizeof(h2) - 1);
	wait_for(&s.running, 2);
	close(fd);
	wait_for(&s.abandoned, 2);
	end(&s);
}

static void a_query_without_a_client_is_not_run(void **state)
{
	struct scene s;
	int running, gone, other;

	begin(&s, NULL);
	running = dial(&s, HEAD("/wait", "2"));
	wait_for(&s.running, 1);
	gone = dial(&s, HEAD("/endless", "2"));
	wait_for_waiting(&s, 2, 1);
	close(gone);
	/*
	 * A handler elsewhere that notices the end of a later client proves that there was a sweep.
	 */
	other = dial(&s, HEAD("/endless", "0"));
	wait_for(&s.running, 2);
	close(other);
	wait_for(&s.abandoned, 1);
	other = dial(&s, HEAD("/x", "2"));
	wait_for_waiting(&s, 2, 2);
	s.go = true;
	assert_int_equal(status_at(running), 200);
	assert_int_equal(status_at(other), 200);
	assert_int_equal(s.abandoned, 1);
	end(&s);
}

/* A client of HTTP/1, or of HTTP/2 with a closed window, that does not read. */
static int ask_without_reading(const struct scene *s, bool http2)
{
	static const char h2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0"
				 "\0\0\15\1\5\0\0\0\1\x82\x86\1\1a\4\6/large";
	int fd = dial(s, http2 ? "" : HEAD("/large", "0"));

	if (http2)
		assert_int_equal(send(fd, h2, sizeof(h2) - 1, 0), (ssize_t)sizeof(h2) - 1);
	return fd;
}

static void a_client_that_does_not_read_harms_only_itself(void **state)
{
	const struct http_server_options with = { .max_unsent = 2 * LARGE + LARGE / 2 };
	struct scene s;
	int fds[8];

	begin(&s, &with);
	for (int i = 0; i < 8; i++) {
		fds[i] = ask_without_reading(&s, i % 2);
		/*
		 * the response is computed, and the token of the group is free although nobody
		 * reads
		 */
		wait_for(&s.handled, i + 1);
		while (atomic_load(&s.held))
			usleep(1000);
		wait_for(&s.unread, i - 1);
	}
	assert_int_equal(s.refused, 0);
	assert_int_equal(status_at(dial(&s, HEAD("/x", "0"))), 200);
	assert_int_equal(s.unread, 6);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	end(&s);
}

static void a_group_beyond_its_limit_is_refused_when_its_request_is_complete(void **state)
{
	struct scene s;

	begin(&s, NULL);
	s.held = 1;
	for (int http2 = 0; http2 < 2; http2++)
		assert_memory_equal(ask(http_server_port(s.server), http2, "/large", "b", 1),
				    "429 ", 4);
	assert_int_equal(s.handled, 0);
	s.held = 0;
	assert_int_equal(status_at(dial(&s, HEAD("/large", "0"))), 200);
	assert_int_equal(s.held, 0);
	end(&s);
}

TEST_GROUP(test_http_server, TEST(both_protocols_are_served_on_each_port),
	   TEST(trailers_are_sent_over_http2), TEST(the_largest_body_is_accepted_and_no_larger_one),
	   TEST(the_admission_limits_or_discards_a_body),
	   TEST(a_worker_may_decide_about_the_admission),
	   TEST(bodies_beyond_the_limit_of_memory_are_refused),
	   TEST(a_request_may_arrive_byte_by_byte),
	   TEST(requests_on_one_connection_are_answered_in_turn),
	   TEST(peers_that_do_not_speak_http_are_disconnected),
	   TEST(an_idle_connection_is_closed_for_one_beyond_the_limit),
	   TEST(an_idle_connection_is_closed),
	   TEST(requests_in_progress_are_answered_before_the_end),
	   TEST(an_unusable_address_is_refused_with_the_reason),
	   TEST(a_full_queue_refuses_while_other_pools_work),
	   TEST(a_handler_is_called_again_in_the_pool_to_which_it_moves),
	   TEST(a_handler_notices_that_its_client_has_disconnected),
	   TEST(a_query_without_a_client_is_not_run),
	   TEST(a_client_that_does_not_read_harms_only_itself),
	   TEST(a_group_beyond_its_limit_is_refused_when_its_request_is_complete))
