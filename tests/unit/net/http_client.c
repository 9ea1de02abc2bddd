/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fixture.h"
#include "tests/test.h"

/* Performs one exchange with a server that sends these responses. */
struct scene {
	struct fake_server *server;
	struct http_client *client;
	struct http_client_response answer;
	struct err err;
	char *url;
	atomic_bool cancelled;
};

static void begin(struct scene *s, const char *const *answers, size_t n,
		  const struct http_client_options *opt)
{
	*s = (struct scene){ .server = fake_server_new(answers, n) };
	s->url = fake_server_url(s->server, "/path");
	assert_int_equal(http_client_new(&s->client, opt, NULL), 0);
}

static void end(struct scene *s)
{
	http_client_free(s->client);
	http_client_response_fini(&s->answer);
	fake_server_free(s->server);
	free(s->url);
}

static int post(struct scene *s, const char *body)
{
	const char *headers[] = { "Content-Type: text/x" };
	const struct http_client_request rq = {
		.url = s->url,
		.headers = headers,
		.n_headers = 1,
		.body = body,
		.body_len = strlen(body),
		.cancelled = &s->cancelled,
	};

	return http_client_do(s->client, &rq, &s->answer, &s->err);
}

static int post_to(const char *answer, struct scene *s)
{
	begin(s, &answer, 1, &(struct http_client_options){ 0 });
	return post(s, "question");
}

static void sends_the_body_and_returns_the_response(void **state)
{
	struct scene s;

	assert_int_equal(post_to("HTTP/1.1 200 OK\r\nContent-Type: text/y\r\n"
				 "Content-Length: 6\r\n\r\nanswer",
				 &s),
			 0);
	assert_int_equal(s.answer.status, 200);
	assert_int_equal(s.answer.body.len, 6);
	assert_memory_equal(s.answer.body.data, "answer", 6);
	assert_string_equal(http_client_response_header(&s.answer, "content-type"), "text/y");
	assert_null(http_client_response_header(&s.answer, "content"));
	assert_non_null(strstr(fake_server_request(s.server, 0), "POST /path HTTP/1.1\r\n"));
	assert_non_null(strstr(fake_server_request(s.server, 0), "Content-Type: text/x\r\n"));
	assert_non_null(strstr(fake_server_request(s.server, 0), "\r\n\r\nquestion"));
	end(&s);
}

static void trailers_are_headers(void **state)
{
	struct scene s;

	assert_int_equal(
		post_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			"Trailer: grpc-status\r\n\r\n1\r\nx\r\n0\r\ngrpc-status: 14\r\n\r\n",
			&s),
		0);
	assert_string_equal(http_client_response_header(&s.answer, "Grpc-Status"), "14");
	end(&s);
}

static void an_error_status_is_a_response(void **state)
{
	struct scene s;

	assert_int_equal(
		post_to("HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", &s), 0);
	assert_int_equal(s.answer.status, 503);
	assert_int_equal(http_client_response_retry_ms(&s.answer), 7000);
	end(&s);
}

static void a_date_in_retry_after_is_relative_to_the_responses_date(void **state)
{
	struct scene s;

	assert_int_equal(post_to("HTTP/1.1 503 No\r\nDate: Fri, 02 Jan 1998 00:00:00 GMT\r\n"
				 "Retry-After: Fri, 02 Jan 1998 00:01:30 GMT\r\n\r\n",
				 &s),
			 0);
	assert_int_equal(http_client_response_retry_ms(&s.answer), 90000);
	end(&s);
}

static void an_invalid_or_excessive_retry_after_is_limited(void **state)
{
	static const struct {
		const char *value;
		int64_t ms;
	} cases[] = {
		{ "soon", 0 }, { "-5", 0 }, { "99999999999999999999", 0 }, { "999999999", 86400000 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_client_response a = { 0 };

		buf_printf(&a.headers, "Retry-After: %s", cases[i].value);
		buf_put_byte(&a.headers, 0);
		assert_int_equal(http_client_response_retry_ms(&a), cases[i].ms);
		http_client_response_fini(&a);
	}
}

static void a_response_other_than_http_is_refused(void **state)
{
	static const char *const answers[] = {
		"\x01\x02\x03garbage\r\n\r\n", "",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct scene s;

		assert_int_equal(post_to(answers[i], &s), -EBADMSG);
		assert_true(strlen(s.err.msg) > 0);
		end(&s);
	}
}

static void a_response_beyond_the_limit_is_refused(void **state)
{
	static const char *const answer =
		"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901";
	struct scene s;

	begin(&s, &answer, 1, &(struct http_client_options){ .max_response = 10 });
	assert_int_equal(post(&s, "q"), -EFBIG);
	assert_string_equal(s.err.msg, "response exceeds the limit of 10 bytes");
	end(&s);
}

static void endless_headers_are_refused(void **state)
{
	struct buf b = { 0 };
	struct scene s;

	buf_put_str(&b, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 20000; i++)
		buf_put_str(&b, "a: b\r\nccccc: ddddd\r\n");
	buf_put(&b, "\r\n", 3);
	/* libcurl has limits of its own */
	assert_true(post_to((const char *)b.data, &s) < 0);
	end(&s);
	buf_fini(&b);
}

static void a_redirect_to_the_same_server_is_followed_with_the_body(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 307 There\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	};
	struct scene s;

	begin(&s, answers, 2, &(struct http_client_options){ 0 });
	assert_int_equal(post(&s, "question"), 0);
	assert_int_equal(s.answer.status, 200);
	assert_non_null(strstr(fake_server_request(s.server, 1), "POST /there HTTP/1.1\r\n"));
	assert_non_null(strstr(fake_server_request(s.server, 1), "\r\n\r\nquestion"));
	end(&s);
}

static void a_redirect_to_another_server_is_returned(void **state)
{
	static const struct {
		const char *to;
		bool same_port;
	} cases[] = { { "http://127.0.0.2:", true },
		      { "https://127.0.0.1:", true },
		      { "http://127.0.0.1:1", false },
		      { "//other", false },
		      { "file:///etc/passwd", false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
		char redirect[256], port[8] = "";
		const char *answers[] = { redirect, ok };
		struct scene s;

		begin(&s, answers, 2, &(struct http_client_options){ 0 });
		if (cases[i].same_port)
			snprintf(port, sizeof(port), "%u", fake_server_port(s.server));
		snprintf(redirect, sizeof(redirect),
			 "HTTP/1.1 308 There\r\nLocation: %s%s/x\r\nContent-Length: 0\r\n\r\n",
			 cases[i].to, port);
		assert_int_equal(post(&s, "question"), 0);
		assert_int_equal(s.answer.status, 308);
		assert_int_equal(fake_server_n_requests(s.server), 1);
		end(&s);
	}
}

static void a_moved_page_is_followed_only_without_a_body(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 302 There\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	};
	struct scene s;

	begin(&s, answers, 2, &(struct http_client_options){ 0 });
	assert_int_equal(http_client_do(s.client, &(struct http_client_request){ .url = s.url },
					&s.answer, NULL),
			 0);
	assert_int_equal(s.answer.status, 200);
	end(&s);
	begin(&s, answers, 2, &(struct http_client_options){ 0 });
	assert_int_equal(post(&s, "question"), 0);
	assert_int_equal(s.answer.status, 302);
	end(&s);
}

static void circular_redirects_end(void **state)
{
	struct scene s;

	assert_int_equal(
		post_to("HTTP/1.1 307 There\r\nLocation: /path\r\nContent-Length: 0\r\n\r\n", &s),
		0);
	assert_int_equal(s.answer.status, 307);
	assert_true(fake_server_n_requests(s.server) < 10);
	end(&s);
}

/* Four responses after 100 ms each, none of which exceeds the limit. */
static void redirects_take_no_longer_than_a_request_may(void **state)
{
	static const char *const answer =
		FAKE_LATE "HTTP/1.1 307 There\r\nLocation: /path\r\nContent-Length: 0\r\n\r\n";
	struct scene s;

	begin(&s, &answer, 1, &(struct http_client_options){ .timeout_ms = 250 });
	assert_int_equal(post(&s, "q"), -ETIMEDOUT);
	end(&s);
}

static void a_silent_server_causes_a_timeout(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct scene s;

	begin(&s, &answer, 1, &(struct http_client_options){ .timeout_ms = 50 });
	assert_int_equal(post(&s, "q"), -ETIMEDOUT);
	end(&s);
}

static void *cancel(void *arg)
{
	struct scene *s = arg;

	fake_server_wait(s->server, 1);
	atomic_store(&s->cancelled, true);
	return NULL;
}

static void another_thread_can_cancel_a_request(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct scene s;
	pthread_t t;

	begin(&s, &answer, 1, &(struct http_client_options){ .timeout_ms = 3600000 });
	assert_int_equal(pthread_create(&t, NULL, cancel, &s), 0);
	assert_int_equal(post(&s, "q"), -ECANCELED);
	pthread_join(t, NULL);
	assert_int_equal(post(&s, "q"), -ECANCELED);
	end(&s);
}

static int fetch(const char *url, const char *header)
{
	_cleanup_(http_client_freep) struct http_client *c = NULL;
	_cleanup_(http_client_response_fini) struct http_client_response a = { 0 };
	const struct http_client_request rq = { .url = url,
						.headers = &header,
						.n_headers = header ? 1 : 0 };

	assert_int_equal(http_client_new(&c, &(struct http_client_options){ 0 }, NULL), 0);
	return http_client_do(c, &rq, &a, NULL);
}

static void refuses_unsupported_and_unsafe_requests(void **state)
{
	assert_int_equal(fetch("http://127.0.0.1:1/", NULL), -ECONNREFUSED);
	assert_int_equal(fetch("file:///etc/passwd", NULL), -EINVAL);
	assert_int_equal(fetch("http://", NULL), -EINVAL);
	assert_int_equal(fetch("http://127.0.0.1:1/", "A: b\r\nC: d"), -EINVAL);
}

static void a_missing_file_of_certificates_is_refused_at_once(void **state)
{
	struct http_client *c;
	struct err err = { 0 };

	assert_int_equal(
		http_client_new(&c, &(struct http_client_options){ .ca_file = "/nowhere" }, &err),
		-EINVAL);
	assert_string_equal(err.msg, "cannot read \"/nowhere\": No such file or directory");
}

TEST_GROUP(test_http_client, TEST(sends_the_body_and_returns_the_response),
	   TEST(trailers_are_headers), TEST(an_error_status_is_a_response),
	   TEST(a_date_in_retry_after_is_relative_to_the_responses_date),
	   TEST(an_invalid_or_excessive_retry_after_is_limited),
	   TEST(a_response_other_than_http_is_refused),
	   TEST(a_response_beyond_the_limit_is_refused), TEST(endless_headers_are_refused),
	   TEST(a_redirect_to_the_same_server_is_followed_with_the_body),
	   TEST(a_redirect_to_another_server_is_returned),
	   TEST(a_moved_page_is_followed_only_without_a_body), TEST(circular_redirects_end),
	   TEST(redirects_take_no_longer_than_a_request_may),
	   TEST(a_silent_server_causes_a_timeout), TEST(another_thread_can_cancel_a_request),
	   TEST(refuses_unsupported_and_unsafe_requests),
	   TEST(a_missing_file_of_certificates_is_refused_at_once))
