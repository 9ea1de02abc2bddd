/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to fake servers in this process, through a child that has the network. */
#include "fetch/fetcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "fixture.h"
#include "roles/launcher.h"
#include "tests/test.h"
#include "tests/unit/net/fixture.h"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

enum { PATIENCE_MS = 60000 };

static int keep(void *ctx, const void *data, size_t len)
{
	struct buf *b = ctx;

	buf_put(b, data, len);
	return buf_error(b);
}

static int refuse(void *ctx, const void *data, size_t len)
{
	return -ENOSPC;
}

/* Requests @path of a server with these responses. Returns the same values as fetcher_get(). */
static int get(const char *const *answers, size_t n, struct fetch *q, struct buf *body,
	       struct err *err)
{
	struct fake_server *server = fake_server_new(answers, n);
	char *url = fake_server_url(server, "/x");
	struct fetcher *f = fixture_fetcher();
	int r;

	q->url = url;
	q->ca_fd = -1;
	q->ctx = body;
	q->body = q->body ? q->body : keep;
	q->timeout_ms = q->timeout_ms ? q->timeout_ms : PATIENCE_MS;
	r = fetcher_get(f, q, err);
	fetcher_free(f);
	fake_server_free(server);
	free(url);
	return r;
}

static void the_body_of_a_response_arrives(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, answer = { 0 };
	struct fetch q = { .max_bytes = 1 << 20 };
	const char *answers[1];

	buf_put_str(&answer, OK);
	for (int i = 0; i < 200000; i++)
		buf_put_byte(&answer, (uint8_t)('a' + i % 26));
	buf_put_byte(&answer, 0);
	answers[0] = (const char *)answer.data;
	assert_int_equal(get(answers, 1, &q, &body, NULL), 200);
	assert_int_equal(body.len, 200000);
	assert_memory_equal(body.data, answer.data + strlen(OK), body.len);
}

static void a_body_over_the_limit_ends_the_request(void **state)
{
	static const char *const answer[] = { OK "12345678" };
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct fetch exact = { .max_bytes = 8 }, less = { .max_bytes = 7 };

	assert_int_equal(get(answer, 1, &exact, &body, NULL), 200);
	assert_int_equal(body.len, 8);
	assert_int_equal(get(answer, 1, &less, &body, NULL), -EFBIG);
}

static void only_the_body_of_a_success_is_passed_on(void **state)
{
	static const char *const answer[] = { "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
					      "<html>" };
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct fetch q = { .max_bytes = 100 };

	assert_int_equal(get(answer, 1, &q, &body, NULL), 404);
	assert_int_equal(body.len, 0);
}

static void the_receiver_can_end_a_request(void **state)
{
	static const char *const answer[] = { OK "text" };
	struct fetch q = { .max_bytes = 100, .body = refuse };

	assert_int_equal(get(answer, 1, &q, NULL, NULL), -ENOSPC);
}

static void failures_have_a_reason(void **state)
{
	static const char *const garbage[] = { "garbage\r\n\r\n" }, *const none[] = {
		FAKE_SILENCE
	};
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct fetch q = { .max_bytes = 100 }, late = { .max_bytes = 100, .timeout_ms = 100 };
	struct err err = { 0 };

	assert_true(get(garbage, 1, &q, &body, &err) < 0);
	assert_string_not_equal(err.msg, "");
	assert_int_equal(get(none, 1, &late, &body, NULL), -ETIMEDOUT);
}

static void headers_are_sent(void **state)
{
	static const char *const answer[] = { OK }, *const headers[] = { "A: 1", "B: 2" };
	struct fake_server *server = fake_server_new(answer, 1);
	char *url = fake_server_url(server, "/x");
	struct fetcher *f = fixture_fetcher();
	const struct fetch q = { .url = url,
				 .headers = headers,
				 .n_headers = 2,
				 .ca_fd = -1,
				 .timeout_ms = PATIENCE_MS,
				 .body = keep };

	assert_int_equal(fetcher_get(f, &q, NULL), 200);
	assert_non_null(strstr(fake_server_request(server, 0), "GET /x HTTP/1.1\r\n"));
	assert_non_null(strstr(fake_server_request(server, 0), "A: 1\r\nB: 2\r\n"));
	fetcher_free(f);
	fake_server_free(server);
	free(url);
}

static void redirects_to_other_servers_are_followed_if_permitted(void **state)
{
	static const char *const there[] = { OK "found" };
	struct fake_server *other = fake_server_new(there, 1);
	char *to = fake_server_url(other, "/y"), redirect[256];
	const char *answers[] = { redirect };
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct fetch any = { .max_bytes = 100, .any_redirect = true }, same = { .max_bytes = 100 };

	snprintf(redirect, sizeof(redirect),
		 "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 2\r\n"
		 "Connection: close\r\n\r\nno",
		 to);
	assert_int_equal(get(answers, 1, &same, &body, NULL), 302);
	assert_int_equal(body.len, 0);
	assert_int_equal(fake_server_n_requests(other), 0);
	assert_int_equal(get(answers, 1, &any, &body, NULL), 200);
	assert_int_equal(body.len, 5);
	assert_memory_equal(body.data, "found", 5);
	snprintf(redirect, sizeof(redirect),
		 "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
		 "Connection: close\r\n\r\n");
	assert_true(get(answers, 1, &any, &body, NULL) < 0);
	fake_server_free(other);
	free(to);
}

static void a_file_without_certificates_is_an_error(void **state)
{
	struct fetcher *f = fixture_fetcher();
	struct fetch q = { .url = "https://127.0.0.1:1/",
			   .ca_fd = memfd_create("ca", MFD_CLOEXEC),
			   .timeout_ms = PATIENCE_MS,
			   .body = keep };

	assert_int_equal(write(q.ca_fd, "text", 4), 4);
	assert_true(fetcher_get(f, &q, NULL) < 0);
	close(q.ca_fd);
	fetcher_free(f);
}

static void a_launcher_can_start_the_process(void **state)
{
	static const char *const answer[] = { OK "text" };
	struct fake_server *server = fake_server_new(answer, 1);
	char *url = fake_server_url(server, "/x");
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct role_launcher *l;
	struct fetcher *f;
	const struct fetch q = { .url = url,
				 .ca_fd = -1,
				 .timeout_ms = PATIENCE_MS,
				 .max_bytes = 100,
				 .body = keep,
				 .ctx = &body };

	assert_int_equal(role_launcher_new(&l, &fixture_fetch_role, 64 << 20, NULL), 0);
	assert_int_equal(fetcher_new(&f, &fixture_fetch_role, l), 0);
	assert_int_equal(fetcher_get(f, &q, NULL), 200);
	assert_int_equal(body.len, 4);
	fetcher_free(f);
	role_launcher_free(l);
	fake_server_free(server);
	free(url);
}

TEST_GROUP(test_fetcher, TEST(the_body_of_a_response_arrives),
	   TEST(a_body_over_the_limit_ends_the_request),
	   TEST(only_the_body_of_a_success_is_passed_on), TEST(the_receiver_can_end_a_request),
	   TEST(failures_have_a_reason), TEST(headers_are_sent),
	   TEST(redirects_to_other_servers_are_followed_if_permitted),
	   TEST(a_file_without_certificates_is_an_error), TEST(a_launcher_can_start_the_process))
