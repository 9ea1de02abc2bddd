/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/fetch/fetch_all_job.c */
/* Requests to many URLs at once, through a child that has the network. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fetch/fetch_message.h"
#include "fetch/fetcher.h"
#include "fixture.h"
#include "tests/test.h"
#include "tests/unit/net/fixture.h"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

enum { PATIENCE_MS = 60000, SOON_MS = 500, N_MANY = 200 };

struct results {
	struct buf bodies[FETCH_ALL_MAX];
	int results[FETCH_ALL_MAX];
	size_t n;
	atomic_bool cancelled;
	bool cancels; /* with the first result */
};

static void on_body(void *ctx, size_t index, const void *data, size_t len)
{
	struct results *r = ctx;

	buf_put(&r->bodies[index], data, len);
}

static void on_end(void *ctx, size_t index, int result, const char *why)
{
	struct results *r = ctx;

	assert_int_equal(r->results[index], 0);
	assert_true(result > 0 || *why);
	r->results[index] = result;
	r->n++;
	r->cancelled = r->cancels;
}

static int get_all(struct results *r, const char *const *urls, size_t n, unsigned int timeout_ms)
{
	struct fetcher *f = fixture_fetcher();
	const struct fetch_all q = {
		.fetcher = f,
		.urls = urls,
		.n = n,
		.files = { -1, -1, -1 },
		.timeout_ms = timeout_ms,
		.max_bytes = 100,
		.body = on_body,
		.end = on_end,
		.ctx = r,
	};
	int result = fetcher_get_all(&q, 1, &r->cancelled);

	fetcher_free(f);
	return result;
}

static void results_fini(struct results *r)
{
	for (size_t i = 0; i < FETCH_ALL_MAX; i++)
		buf_fini(&r->bodies[i]);
}

static void each_url_has_its_own_result(void **state)
{
	static const char
		*const good[] = { OK "text" },
		       *const bad[] = { "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nx" },
		       *const garbage[] = { "garbage\r\n\r\n" };
	struct fake_server *a = fake_server_new(good, 1), *b = fake_server_new(bad, 1),
			   *c = fake_server_new(garbage, 1);
	char *urls[] = { fake_server_url(a, "/a"), fake_server_url(b, "/b"),
			 fake_server_url(c, "/c") };
	_cleanup_(results_fini) struct results r = { 0 };

	assert_int_equal(get_all(&r, (const char *const *)urls, 3, PATIENCE_MS), 0);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.results[0], 200);
	assert_int_equal(r.bodies[0].len, 4);
	assert_memory_equal(r.bodies[0].data, "text", 4);
	assert_int_equal(r.results[1], 404);
	assert_int_equal(r.bodies[1].len, 0);
	assert_true(r.results[2] < 0);
	for (int i = 0; i < 3; i++)
		free(urls[i]);
	fake_server_free(a);
	fake_server_free(b);
	fake_server_free(c);
}

static void more_urls_than_threads_all_end(void **state)
{
	static const char *const good[] = { OK "x" };
	struct fake_server *server = fake_server_new(good, 1);
	char *url = fake_server_url(server, "/x");
	const char *urls[N_MANY];
	_cleanup_(results_fini) struct results r = { 0 };

	for (int i = 0; i < N_MANY; i++)
		urls[i] = url;
	assert_int_equal(get_all(&r, urls, N_MANY, PATIENCE_MS), 0);
	assert_int_equal(r.n, N_MANY);
	for (int i = 0; i < N_MANY; i++)
		assert_int_equal(r.results[i], 200);
	fake_server_free(server);
	free(url);
}

static void a_silent_server_delays_no_other_one(void **state)
{
	static const char *const good[] = { OK "text" }, *const none[] = { FAKE_SILENCE };
	struct fake_server *silent = fake_server_new(none, 1), *honest = fake_server_new(good, 1);
	char *urls[] = { fake_server_url(silent, "/"), fake_server_url(honest, "/") };
	_cleanup_(results_fini) struct results r = { .cancels = true };

	/* the honest one's result ends the call, long before the time of the silent one is over */
	assert_int_equal(get_all(&r, (const char *const *)urls, 2, PATIENCE_MS), -ECANCELED);
	assert_int_equal(r.results[1], 200);
	assert_int_equal(r.results[0], 0);
	fake_server_free(silent);
	fake_server_free(honest);
	free(urls[0]);
	free(urls[1]);
}

static void a_silent_server_times_out(void **state)
{
	static const char *const none[] = { FAKE_SILENCE };
	struct fake_server *silent = fake_server_new(none, 1);
	char *url = fake_server_url(silent, "/");
	const char *urls[] = { url };
	_cleanup_(results_fini) struct results r = { 0 };

	assert_int_equal(get_all(&r, urls, 1, SOON_MS), 0);
	assert_int_equal(r.results[0], -ETIMEDOUT);
	fake_server_free(silent);
	free(url);
}

static void a_large_body_ends_its_request_only(void **state)
{
	char large[sizeof(OK) + 101] = OK;
	const char *const answers[] = { large }, *const good[] = { OK "text" };
	struct fake_server *a, *b;
	char *urls[2];
	_cleanup_(results_fini) struct results r = { 0 };

	memset(large + strlen(OK), 'x', 101);
	a = fake_server_new(answers, 1);
	b = fake_server_new(good, 1);
	urls[0] = fake_server_url(a, "/");
	urls[1] = fake_server_url(b, "/");
	assert_int_equal(get_all(&r, (const char *const *)urls, 2, PATIENCE_MS), 0);
	assert_int_equal(r.results[0], -EFBIG);
	assert_int_equal(r.results[1], 200);
	fake_server_free(a);
	fake_server_free(b);
	free(urls[0]);
	free(urls[1]);
}

static void each_batch_has_its_own_process_and_headers(void **state)
{
	static const char *const good[] = { OK "text" }, *const header[] = { "X-Secret: one" };
	struct fake_server *with = fake_server_new(good, 1), *without = fake_server_new(good, 1);
	char *a = fake_server_url(with, "/"), *b = fake_server_url(without, "/");
	const char *url_a[] = { a, a }, *url_b[] = { b };
	_cleanup_(results_fini) struct results ra = { 0 }, rb = { 0 };
	struct fetcher *f = fixture_fetcher(), *g;
	struct fetch_all q[] = {
		{ .fetcher = f,
		  .urls = url_a,
		  .n = 2,
		  .headers = header,
		  .n_headers = 1,
		  .ctx = &ra },
		{ .urls = url_b, .n = 1, .ctx = &rb },
	};

	assert_int_equal(fetcher_new_like(&g, f), 0);
	q[1].fetcher = g;
	for (int i = 0; i < 2; i++) {
		q[i].timeout_ms = PATIENCE_MS;
		q[i].max_bytes = 100;
		q[i].body = on_body;
		q[i].end = on_end;
		memset(q[i].files, 0xff, sizeof(q[i].files));
	}
	assert_int_equal(fetcher_get_all(q, 2, NULL), 0);
	assert_int_equal(ra.results[0], 200);
	assert_int_equal(ra.results[1], 200);
	assert_int_equal(rb.results[0], 200);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(fake_server_request(with, i), "X-Secret: one"));
	assert_null(strstr(fake_server_request(without, 0), "X-Secret"));
	fetcher_free(f);
	fetcher_free(g);
	fake_server_free(with);
	fake_server_free(without);
	free(a);
	free(b);
}

static void the_number_of_urls_is_limited(void **state)
{
	static const char *urls[FETCH_ALL_MAX + 1];
	_cleanup_(results_fini) struct results r = { 0 };

	assert_int_equal(get_all(&r, urls, 0, SOON_MS), -EINVAL);
	assert_int_equal(get_all(&r, urls, FETCH_ALL_MAX + 1, SOON_MS), -EINVAL);
}

static void pieces_and_ends_are_checked(void **state)
{
	struct fetch_piece piece = { .index = 2 };
	struct fetch_end end = { .index = 2, .reply = { .status = 200 } };

	assert_ptr_equal(fetch_check_piece(&piece, sizeof(piece), 3), &piece);
	assert_null(fetch_check_piece(&piece, sizeof(piece), 2));
	assert_null(fetch_check_piece(&piece, sizeof(piece) - 1, 3));
	assert_ptr_equal(fetch_check_end(&end, sizeof(end), 3), &end);
	assert_null(fetch_check_end(&end, sizeof(end), 2));
	assert_null(fetch_check_end(&end, sizeof(end) - 1, 3));
	end.result = 1;
	assert_null(fetch_check_end(&end, sizeof(end), 3));
	end.result = -EIO;
	assert_null(fetch_check_end(&end, sizeof(end), 3));
}

TEST_GROUP(test_fetch_all, TEST(each_url_has_its_own_result), TEST(more_urls_than_threads_all_end),
	   TEST(a_silent_server_delays_no_other_one), TEST(a_silent_server_times_out),
	   TEST(a_large_body_ends_its_request_only),
	   TEST(each_batch_has_its_own_process_and_headers), TEST(the_number_of_urls_is_limited),
	   TEST(pieces_and_ends_are_checked))
