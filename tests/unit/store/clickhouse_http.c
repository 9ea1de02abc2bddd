/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are those that a fake server received, byte for byte. */
#include "store/clickhouse/clickhouse_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../net/fixture.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/store.h"
#include "tests/test.h"

#define NAME "X-ClickHouse-Server-Display-Name: test\r\n"
#define OK   "HTTP/1.1 200 OK\r\n" NAME "Content-Length: 0\r\n\r\n"
#define ROWS "HTTP/1.1 200 OK\r\n" NAME "Content-Length: 4\r\n\r\nrows"

static void urls_are_split(void **state)
{
	static const struct {
		const char *url, *base, *database;
	} cases[] = {
		{ "clickhouse://h:8123/cameo", "http://h:8123/", "cameo" },
		{ "clickhouses://h:8443/_x9", "https://h:8443/", "_x9" },
		{ "clickhouse://u:p@w@h:1/d", "http://h:1/", "d" },
		{ "clickhouse://[::1]:8123/d", "http://[::1]:8123/", "d" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(clickhouse_http_freep) struct clickhouse_http *h = NULL;

		assert_int_equal(clickhouse_http_new(&h, cases[i].url, NULL), 0);
		assert_string_equal(clickhouse_http_url(h), cases[i].base);
		assert_string_equal(clickhouse_http_database(h), cases[i].database);
	}
}

static void other_urls_are_refused_without_their_password(void **state)
{
	static const char *const bad[] = {
		"",
		"http://h:1/d",
		"clickhouse://",
		"clickhouse://h:1",
		"clickhouse:///d",
		"clickhouse://h:1/",
		"clickhouse://h:1/d/e",
		"clickhouse://h:1/9d",
		"clickhouse://h:1/d'; DROP TABLE x",
		"clickhouse://h:1/d?x",
		"clickhouse://u:secret\r\nX-Other: 1@h:1/d",
		("clickhouse://h:1/"
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct clickhouse_http *h = NULL;
		struct err err = { 0 };

		if (clickhouse_http_new(&h, bad[i], &err) != -EINVAL)
			fail_msg("\"%s\" is accepted", bad[i]);
		assert_null(h);
		assert_non_null(strstr(err.msg, "expected clickhouse://"));
		assert_null(strstr(err.msg, "secret"));
	}
}

/* A connection to a fake server. */
struct scene {
	struct fake_server *server;
	struct clickhouse_http *h;
	struct buf sql, out;
	struct err err;
};

static void begin(struct scene *s, const char *const *answers, size_t n, const char *user)
{
	char url[100];

	*s = (struct scene){ .server = fake_server_new(answers, n) };
	snprintf(url, sizeof(url), "clickhouse://%s127.0.0.1:%u/cameo", user,
		 fake_server_port(s->server));
	assert_int_equal(clickhouse_http_new(&s->h, url, NULL), 0);
	buf_put_str(&s->sql, "SELECT 1");
}

static void end(struct scene *s)
{
	clickhouse_http_free(s->h);
	fake_server_free(s->server);
	buf_fini(&s->sql);
	buf_fini(&s->out);
}

static int run(struct scene *s, int64_t deadline_ns)
{
	const struct store_select end = { .deadline_ns = deadline_ns };

	s->err = (struct err){ 0 };
	return clickhouse_http_run(s->h, &s->sql, &end, &s->out, &s->err);
}

static const char *request(struct scene *s, size_t i)
{
	return fake_server_request(s->server, i);
}

static void a_statement_is_the_body_and_its_result_is_appended(void **state)
{
	static const char *const answers[] = { ROWS, OK, OK };
	struct scene s;

	begin(&s, answers, 3, "");
	buf_put_str(&s.out, "before:");
	assert_int_equal(run(&s, 0), 0);
	assert_int_equal(s.out.len, 11);
	assert_memory_equal(s.out.data, "before:rows", 11);
	assert_non_null(strstr(request(&s, 0), "POST /?database=cameo&wait_end_of_query=1&"));
	assert_non_null(strstr(request(&s, 0), "\r\n\r\nSELECT 1"));
	assert_null(strstr(request(&s, 0), "max_execution_time"));
	assert_null(strstr(request(&s, 0), "X-ClickHouse-"));
	assert_int_equal(clickhouse_http_run(s.h, &s.sql, NULL, NULL, NULL), 0);
	assert_int_equal(clickhouse_http_run_outside(s.h, &s.sql, NULL), 0);
	assert_non_null(strstr(request(&s, 2), "POST / HTTP/1.1\r\n"));
	end(&s);
}

static void the_user_is_in_headers_and_not_in_the_url(void **state)
{
	static const char *const answer = OK;
	struct scene s;

	begin(&s, &answer, 1, "me:pass:word@");
	assert_int_equal(run(&s, 0), 0);
	assert_non_null(strstr(request(&s, 0), "X-ClickHouse-User: me\r\n"));
	assert_non_null(strstr(request(&s, 0), "X-ClickHouse-Key: pass:word\r\n"));
	assert_null(strstr(clickhouse_http_url(s.h), "pass"));
	end(&s);
	begin(&s, &answer, 1, "me@");
	assert_int_equal(run(&s, 0), 0);
	assert_non_null(strstr(request(&s, 0), "X-ClickHouse-User: me\r\n"));
	assert_null(strstr(request(&s, 0), "X-ClickHouse-Key"));
	end(&s);
}

static void rows_are_inserted_into_the_table_of_the_url(void **state)
{
	static const char *const answer = OK;
	struct buf rows = { 0 };
	struct scene s;

	begin(&s, &answer, 1, "");
	buf_put(&rows, "a\0b", 3);
	assert_int_equal(clickhouse_http_insert(s.h, "cameo_frames", &rows, NULL), 0);
	assert_non_null(strstr(request(&s, 0),
			       "POST /?database=cameo&query=INSERT%20INTO%20cameo_frames%20FORMAT"
			       "%20RowBinary HTTP/1.1\r\n"));
	assert_memory_equal(strstr(request(&s, 0), "\r\n\r\n") + 4, "a\0b", 3);
	buf_fini(&rows);
	end(&s);
}

static void a_deadline_is_passed_on_and_one_that_passed_sends_nothing(void **state)
{
	static const char *const answer = OK;
	struct scene s;

	begin(&s, &answer, 1, "");
	assert_int_equal(run(&s, 1), -ETIMEDOUT);
	assert_non_null(strstr(s.err.msg, "query exceeded its time limit"));
	assert_int_equal(fake_server_n_requests(s.server), 0);
	assert_int_equal(run(&s, (int64_t)clock_monotonic_ns() + 3600LL * CLOCK_SECOND_NS), 0);
	assert_non_null(strstr(request(&s, 0), "&max_execution_time=3600 HTTP/1.1\r\n"));
	end(&s);
}

#define FAILED(text) "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n" text

static void errors_of_the_server_have_numbers(void **state)
{
	static const struct {
		const char *answer;
		int code;
		const char *why;
	} cases[] = {
		{ FAILED("Code: 159. DB::Exception: Timeout"), -ETIMEDOUT,
		  "ClickHouse: Code: 159. DB::Exception: Timeout" },
		{ FAILED("Code: 160, e.displayText() = slow"), -ETIMEDOUT,
		  "ClickHouse: Code: 160, e.displayText() = slow" },
		{ FAILED("Code: 241."), -ENOMEM, "ClickHouse: Code: 241." },
		{ FAILED("Code: 243."), -ENOSPC, "ClickHouse: Code: 243." },
		{ FAILED("Code: 252."), -EAGAIN, "ClickHouse: Code: 252." },
		{ FAILED("Code: 1591."), -EIO, "ClickHouse: HTTP status 500: Code: 1591." },
		{ FAILED("Code: 99999999999999999999"), -EIO,
		  "ClickHouse: HTTP status 500: Code: 99999999999999999999" },
		{ FAILED("159"), -EIO, "ClickHouse: HTTP status 500: 159" },
		{ FAILED(""), -EIO, "ClickHouse: HTTP status 500: " },
		{ "HTTP/1.1 401 No\r\nConnection: close\r\n\r\nwho?", -EIO,
		  "ClickHouse: HTTP status 401: who?" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s;

		begin(&s, &cases[i].answer, 1, "me:secret@");
		assert_int_equal(run(&s, 0), cases[i].code);
		assert_string_equal(s.err.msg, cases[i].why);
		assert_int_equal(s.out.len, 0);
		end(&s);
	}
}

static void a_long_error_is_truncated(void **state)
{
	char answer[1000];
	const char *answers[] = { answer };
	struct scene s;
	int n = snprintf(answer, sizeof(answer), "%s", FAILED("Code: 1. "));

	memset(answer + n, 'x', sizeof(answer) - 1 - (size_t)n);
	answer[sizeof(answer) - 1] = '\0';
	begin(&s, answers, 1, "");
	assert_int_equal(run(&s, 0), -EIO);
	assert_int_equal(strlen(strstr(s.err.msg, "Code")), 150);
	end(&s);
}

static void a_truncated_response_is_an_error(void **state)
{
	static const char *const answers[] = { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
					       "garbage\r\n\r\n", "", ROWS };
	struct scene s;

	begin(&s, answers, 4, "");
	for (int i = 0; i < 3; i++) {
		assert_true(run(&s, 0) < 0);
		assert_true(*s.err.msg);
		assert_int_equal(s.out.len, 0);
	}
	/* The connection recovers. */
	assert_int_equal(run(&s, 0), 0);
	assert_int_equal(s.out.len, 4);
	end(&s);
}

/* Each of them fails a statement with rows and one without. */
static void only_a_whole_response_of_clickhouse_is_a_success(void **state)
{
	static const char *const with_rows[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" NAME "\r\n",
		"HTTP/1.1 200 OK\r\n" NAME "\r\nrows",
		"HTTP/1.1 200 OK\r\nX-Click",
		"HTTP/1.1 200 OK\r\n" NAME "X-ClickHouse-Exception-Code: 1\r\n"
		"Content-Length: 0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n" NAME "\r\n",
		"HTTP/1.1 307 Elsewhere\r\n" NAME "Content-Length: 0\r\n\r\n",
	};
	static const char *const without[] = { ROWS };
	struct buf rows = { 0 };
	struct scene s;

	buf_put_str(&rows, "row");
	for (size_t i = 0; i < sizeof(with_rows) / sizeof(with_rows[0]); i++) {
		begin(&s, &with_rows[i], 1, "");
		assert_int_equal(run(&s, 0), -EIO);
		assert_int_equal(s.out.len, 0);
		assert_int_equal(clickhouse_http_insert(s.h, "t", &rows, &s.err), -EIO);
		end(&s);
	}
	begin(&s, without, 1, "");
	assert_int_equal(clickhouse_http_insert(s.h, "t", &rows, &s.err), -EIO);
	end(&s);
	buf_fini(&rows);
}

static void the_response_to_an_insertion_is_limited(void **state)
{
	static char answer[(64 << 10) + 200];
	const char *answers[] = { answer };
	struct buf rows = { 0 };
	struct scene s;
	int n = snprintf(answer, sizeof(answer),
			 "HTTP/1.1 500 Error\r\n" NAME "Content-Length: 65537\r\n\r\n");

	memset(answer + n, 'x', (64 << 10) + 1);
	buf_put_str(&rows, "row");
	begin(&s, answers, 1, "");
	assert_int_equal(clickhouse_http_insert(s.h, "t", &rows, &s.err), -EIO);
	assert_non_null(strstr(s.err.msg, "response exceeds the limit of 65536 bytes"));
	end(&s);
	buf_fini(&rows);
}

static void a_server_that_is_silent_ends_no_later_than_the_deadline(void **state)
{
	static const char *const answer = FAKE_SILENCE;
	struct scene s;

	begin(&s, &answer, 1, "");
	assert_int_equal(run(&s, (int64_t)clock_monotonic_ns() + 300 * (int64_t)CLOCK_MS_NS),
			 -ETIMEDOUT);
	end(&s);
}

static void a_server_that_is_away_refuses_connections(void **state)
{
	static const char *const answer = OK;
	struct scene s;

	begin(&s, &answer, 1, "");
	fake_server_free(s.server);
	assert_int_equal(run(&s, 0), -ECONNREFUSED);
	assert_true(*s.err.msg);
	s.server = fake_server_new(&answer, 1);
	end(&s);
}

static void a_statement_that_ran_out_of_memory_is_not_sent(void **state)
{
	static const char *const answer = OK;
	struct scene s;

	begin(&s, &answer, 1, "");
	s.sql.error = -ENOMEM;
	assert_int_equal(run(&s, 0), -ENOMEM);
	assert_int_equal(clickhouse_http_run_outside(s.h, &s.sql, NULL), -ENOMEM);
	assert_int_equal(clickhouse_http_insert(s.h, "t", &s.sql, NULL), -ENOMEM);
	assert_int_equal(fake_server_n_requests(s.server), 0);
	end(&s);
}

TEST_GROUP(test_clickhouse_http, TEST(urls_are_split),
	   TEST(other_urls_are_refused_without_their_password),
	   TEST(a_statement_is_the_body_and_its_result_is_appended),
	   TEST(the_user_is_in_headers_and_not_in_the_url),
	   TEST(rows_are_inserted_into_the_table_of_the_url),
	   TEST(a_deadline_is_passed_on_and_one_that_passed_sends_nothing),
	   TEST(errors_of_the_server_have_numbers), TEST(a_long_error_is_truncated),
	   TEST(a_truncated_response_is_an_error),
	   TEST(only_a_whole_response_of_clickhouse_is_a_success),
	   TEST(the_response_to_an_insertion_is_limited),
	   TEST(a_server_that_is_silent_ends_no_later_than_the_deadline),
	   TEST(a_server_that_is_away_refuses_connections),
	   TEST(a_statement_that_ran_out_of_memory_is_not_sent))
