/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject is what the server does for http1_guard.h, deadline.h and origin.h on real sockets.
 */
#include "net/http1_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/deadline.h"
#include "net/http_server.h"
#include "net/origin.h"
#include "tests/test.h"

static atomic_int n_handled;

static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	n_handled++;
	rs->status = origin_is_foreign(rq, NULL) ? 403 : 200;
	buf_put_str(&rs->body, "handled");
}

static void admit(void *ctx, const struct http_request *rq, bool may_block,
		  struct http_admission *out)
{
	out->message = "not here";
	out->status = http_request_header(rq, "X-Refuse") ? 401 : 0;
}

static struct http_server *open_server(void)
{
	const struct http_server_options opt = {
		.host = "127.0.0.1",
		.pools = &(struct http_pool_options){ .name = "test",
						      .n_workers = 1,
						      .max_queue = 100 },
		.n_pools = 1,
		.max_connections = 16,
		.idle_seconds = 1,
		.max_body = 1000,
		.max_memory = 1500,
		.handler = handle,
		.admit = admit,
	};
	struct http_server *s = NULL;

	n_handled = 0;
	assert_int_equal(http_server_open(&s, &opt, NULL), 0);
	return s;
}

static int dial(const struct http_server *s)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(http_server_port(s)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_return_code(connect(fd, (struct sockaddr *)&to, sizeof(to)), errno);
	return fd;
}

/*
 * Sends @text and reads until the server closes the connection. Returns the status; 0: none came.
 */
static int status_of(const struct http_server *s, const char *text)
{
	int fd = dial(s), status = 0;
	char answer[4096] = "";
	size_t len = 0;
	ssize_t n;

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	while ((n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0)) > 0)
		len += (size_t)n;
	close(fd);
	sscanf(answer, "HTTP/1.%*c %d", &status);
	return status;
}

#define POST "POST / HTTP/1.1\r\n"
#define HOST "Host: a\r\n"

static void refuses_requests_that_two_parsers_may_end_differently(void **state)
{
	_cleanup_(http_server_closep) struct http_server *s = open_server();
	static const char *const requests[] = {
		POST HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		POST HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n1",
		POST HOST "Content-Length: 1, 1\r\n\r\n1",
		POST HOST "Content-Length: 0x1\r\n\r\n1",
		POST HOST HOST "Content-Length: 1\r\n\r\n1",
		POST "Content-Length: 1\r\n\r\n1",
		POST "Host : a\r\nContent-Length: 1\r\n\r\n1",
	};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		assert_int_equal(status_of(s, requests[i]), 400);
	assert_int_equal(n_handled, 0);
	assert_int_equal(status_of(s, POST HOST "Content-Length: 1\r\n\r\n1"), 200);
	assert_int_equal(status_of(s, "GET / HTTP/1.0\r\n\r\n"), 200);
	assert_int_equal(n_handled, 2);
}

static void asks_for_admission_before_the_body(void **state)
{
	_cleanup_(http_server_closep) struct http_server *s = open_server();

	/* the body never comes */
	assert_int_equal(status_of(s, POST HOST "X-Refuse: 1\r\nContent-Length: 900\r\n\r\n"), 401);
	assert_int_equal(n_handled, 0);
}

static void bodies_in_the_making_count_against_the_memory(void **state)
{
	_cleanup_(http_server_closep) struct http_server *s = open_server();
	static const char head[] = POST HOST "Content-Length: 1000\r\n\r\n";
	char request[sizeof(head) + 1000] = "";
	int first = dial(s);

	memcpy(request, head, sizeof(head) - 1);
	memset(request + sizeof(head) - 1, 'x', 1000);
	assert_return_code(send(first, request, strlen(request) - 1, MSG_NOSIGNAL), errno);
	/* the first has 999 of 1,500 bytes until it is late */
	assert_int_equal(status_of(s, request), 429);
	close(first);
}

static void disconnects_clients_that_are_slow_on_purpose(void **state)
{
	_cleanup_(http_server_closep) struct http_server *s = open_server();
	static const char *const begins[] = { "GET / HTTP/1.1\r\nX: ",
					      POST HOST "Content-Length: 900\r\n\r\n" };
	char byte;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		int fd = dial(s);

		assert_return_code(send(fd, begins[i], strlen(begins[i]), MSG_NOSIGNAL), errno);
		/* ends with the connection, or else with the time limit of the test */
		while (send(fd, "x", 1, MSG_NOSIGNAL) == 1 &&
		       recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
			usleep(20000);
		close(fd);
	}
	assert_int_equal(n_handled, 0);
}

static void a_message_has_time_in_proportion_to_its_size(void **state)
{
	assert_false(deadline_is_over(0, 0, 30, 30000));
	assert_true(deadline_is_over(0, 0, 30, 30001));
	assert_false(deadline_is_over(0, 40000, 30, 40000));
	assert_true(deadline_is_over(0, 40000, 30, 40001));
	assert_false(deadline_is_over(0, UINT64_MAX, 30, DEADLINE_MAX_MS));
	assert_true(deadline_is_over(0, UINT64_MAX, 30, DEADLINE_MAX_MS + 1));
}

static void knows_its_own_names(void **state)
{
	static const char *const ours[] = { "127.0.0.1:4040", "10.1.2.3",  "[::1]:80", "localhost",
					    "LocalHost:1",    "a.example", "b:4040" };
	static const char *const others[] = {
		"",
		":80",
		"evil.example",
		"localhost.evil.example",
		"127.0.0.1.evil.example",
		"a.example.evil",
		"a",
		"[]",
		"[evil.example]:80",
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(origin_host_is_ours(ours[i], "a.example,b"));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(origin_host_is_ours(others[i], "a.example,b"));
	assert_false(origin_host_is_ours("a.example", NULL));
}

static void browsers_say_which_origin_a_request_has(void **state)
{
	_cleanup_(http_server_closep) struct http_server *s = open_server();

	assert_int_equal(status_of(s, POST HOST "Origin: http://a\r\nContent-Length: 0\r\n"
						"Connection: close\r\n\r\n"),
			 200);
	assert_int_equal(status_of(s, POST HOST "Origin: http://b\r\nContent-Length: 0\r\n"
						"Connection: close\r\n\r\n"),
			 403);
	assert_int_equal(status_of(s, POST HOST "Origin: null\r\nContent-Length: 0\r\n"
						"Connection: close\r\n\r\n"),
			 403);
	assert_int_equal(status_of(s, POST HOST "Origin: http://a\r\nContent-Length: 0\r\n"
						"Sec-Fetch-Site: cross-site\r\n"
						"Connection: close\r\n\r\n"),
			 403);
	assert_int_equal(status_of(s, "GET / HTTP/1.1\r\n" HOST "Origin: http://b\r\n"
				      "Connection: close\r\n\r\n"),
			 403);
	assert_int_equal(status_of(s, "GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n"
				      "Sec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n"),
			 200);
}

TEST_GROUP(test_http1_guard, TEST(refuses_requests_that_two_parsers_may_end_differently),
	   TEST(asks_for_admission_before_the_body),
	   TEST(bodies_in_the_making_count_against_the_memory),
	   TEST(disconnects_clients_that_are_slow_on_purpose),
	   TEST(a_message_has_time_in_proportion_to_its_size), TEST(knows_its_own_names),
	   TEST(browsers_say_which_origin_a_request_has))
