/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread that runs a statement has a connection of its own; idle connections are kept for the
 * next one. Statements are sent as the body of a POST request, except that an insertion has its
 * statement in the URL and its rows in the body. The user's name and password are sent as headers,
 * because a URL ends up in the logs of proxies and of ClickHouse itself.
 *
 * Whatever answers at that address may be broken, or another server. A statement succeeded only if
 * the response is one that ClickHouse sends for it, is complete, and arrived in time: anything else
 * is a failure that can be repeated. Responses without rows are limited to a few kilobytes.
 */
#include "store/clickhouse/clickhouse_http.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "net/http_client.h"
#include "store/store.h"

enum {
	TIMEOUT_MS = 30000, /* of a statement without a deadline: what clients wait for a push */
	MAX_WITHOUT_ROWS = 64 << 10,
	MAX_METADATA = 16 << 20, /* rows of statements that no query has */
	MAX_USER = 512,
	MAX_URL = 1024,
	MAX_IDLE = 16
};

struct clickhouse_http {
	char *base; /* http://HOST:PORT/ */
	char *database;
	char user[MAX_USER], key[MAX_USER]; /* headers; empty if not used */
	pthread_mutex_t lock;
	struct {
		VEC(struct http_client *);
	} idle;
};

void clickhouse_http_free(struct clickhouse_http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->idle.len; i++)
		http_client_free(h->idle.data[i]);
	vec_fini(&h->idle);
	pthread_mutex_destroy(&h->lock);
	free(h->base);
	free(h->database);
	free(h);
}

const char *clickhouse_http_url(const struct clickhouse_http *h)
{
	return h->base;
}

const char *clickhouse_http_database(const struct clickhouse_http *h)
{
	return h->database;
}

/*
 * True for a name that needs no quotes in SQL. The name is inserted into statements and URLs
 * without quoting, so this check is what prevents an injection through the URL of the store.
 */
static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && n <= 64 && !s[n] && (s[0] < '0' || s[0] > '9');
}

/*
 * Line breaks are refused because they would end the header and begin another one of the caller's
 * choice.
 */
static int parse_user(struct clickhouse_http *h, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t user = colon ? (size_t)(colon - text) : len;

	if (len > MAX_USER / 2 || memchr(text, '\n', len) || memchr(text, '\r', len))
		return -EINVAL;
	snprintf(h->user, sizeof(h->user), "X-ClickHouse-User: %.*s", (int)user, text);
	if (colon)
		snprintf(h->key, sizeof(h->key), "X-ClickHouse-Key: %.*s", (int)(len - user - 1),
			 colon + 1);
	return 0;
}

/* Splits the URL. The password goes into a header, never into messages about the URL. */
static int parse_url(struct clickhouse_http *h, const char *url)
{
	static const char plain[] = "clickhouse://", secure[] = "clickhouses://";
	bool tls = !strncmp(url, secure, sizeof(secure) - 1);
	const char *host, *at, *slash;

	if (!tls && strncmp(url, plain, sizeof(plain) - 1) != 0)
		return -EINVAL;
	host = url + (tls ? sizeof(secure) : sizeof(plain)) - 1;
	at = strrchr(host, '@');
	if (at && parse_user(h, host, (size_t)(at - host)) < 0)
		return -EINVAL;
	host = at ? at + 1 : host;
	slash = strchr(host, '/');
	if (!slash || slash == host || !is_name(slash + 1))
		return -EINVAL;
	if (asprintf(&h->base, "http%s://%.*s/", tls ? "s" : "", (int)(slash - host), host) < 0)
		h->base = NULL;
	h->database = strdup(slash + 1);
	return h->base && h->database ? 0 : -ENOMEM;
}

int clickhouse_http_new(struct clickhouse_http **out, const char *url, struct err *err)
{
	_cleanup_(clickhouse_http_freep) struct clickhouse_http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	r = parse_url(h, url);
	if (r == -EINVAL)
		return err_set(err, r,
			       "invalid URL of a ClickHouse database: expected "
			       "clickhouse://[USER[:PASSWORD]@]HOST:PORT/DATABASE");
	if (r == 0)
		*out = steal_ptr(&h);
	return r;
}

/*
 * Reuses an idle connection or creates one. No connection is shared by two threads, because
 * libcurl's handles are not thread-safe.
 */
static int acquire_client(struct clickhouse_http *h, struct http_client **out, struct err *err)
{
	const struct http_client_options opt = { .timeout_ms = TIMEOUT_MS };

	pthread_mutex_lock(&h->lock);
	*out = h->idle.len ? h->idle.data[--h->idle.len] : NULL;
	pthread_mutex_unlock(&h->lock);
	return *out ? 0 : http_client_new(out, &opt, err);
}

static void release_client(struct clickhouse_http *h, struct http_client *c)
{
	pthread_mutex_lock(&h->lock);
	if (h->idle.len >= MAX_IDLE || vec_push(&h->idle, c) < 0)
		http_client_free(c);
	pthread_mutex_unlock(&h->lock);
}

/*
 * The body of an error is "Code: 159, e.displayText() = …"; in later releases "Code: 159.
 * DB::Exception: …". The numbers have been the same in all releases, unlike the text around them,
 * which is why only the number is interpreted. Errors that the caller can act on have an -errno of
 * their own; all others are -EIO with ClickHouse's text.
 */
static int failed(const struct http_client_response *a, struct err *err)
{
	static const struct {
		int code, error;
	} codes[] = {
		{ 159, -ETIMEDOUT }, /* TIMEOUT_EXCEEDED */
		{ 160, -ETIMEDOUT }, /* TOO_SLOW */
		{ 241, -ENOMEM },    /* MEMORY_LIMIT_EXCEEDED */
		{ 243, -ENOSPC },    /* NOT_ENOUGH_SPACE */
		{ 252, -EAGAIN },    /* TOO_MANY_PARTS */
	};
	const char *text = (const char *)a->body.data;
	int code = 0, n = a->body.len < 150 ? (int)a->body.len : 150;

	if (n > 6 && !strncmp(text, "Code: ", 6))
		code = (int)strtol(text + 6, NULL, 10);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == code)
			return err_set(err, codes[i].error, "ClickHouse: %.*s", n, text);
	return err_set(err, -EIO, "ClickHouse: HTTP status %d: %.*s", a->status, n, n ? text : "");
}

/*
 * All releases since 18.12 send one of these headers. They distinguish a response of ClickHouse
 * from that of another server, such as a proxy whose backend is away, or a head that was cut off.
 */
static bool is_clickhouse(const struct http_client_response *a)
{
	return http_client_response_header(a, "X-ClickHouse-Server-Display-Name") ||
	       http_client_response_header(a, "X-ClickHouse-Query-Id") ||
	       http_client_response_header(a, "X-ClickHouse-Summary");
}

/* Does the response say that the statement succeeded, and is it complete? */
static int check_response(const struct clickhouse_http *h, const struct http_client_response *a,
			  bool has_rows, struct err *err)
{
	if (a->status != 200 || http_client_response_header(a, "X-ClickHouse-Exception-Code"))
		return failed(a, err);
	if (!is_clickhouse(a) || !a->is_delimited)
		return err_set(err, -EIO, "\"%.100s\" did not respond like a ClickHouse server: %s",
			       h->base,
			       a->is_delimited ? "no header X-ClickHouse-…"
					       : "the response has no length");
	return a->body.len && !has_rows ? failed(a, err) : 0;
}

/* The time that remains until a deadline, at least a millisecond; 0 if there is none. */
static unsigned int timeout_of(const struct store_select *end)
{
	int64_t left;

	if (!end || !end->deadline_ns)
		return 0;
	left = (end->deadline_ns - (int64_t)clock_monotonic_ns()) / (int64_t)CLOCK_MS_NS;
	return left < 1 ? 1 : left < INT_MAX ? (unsigned int)left : INT_MAX;
}

/*
 * Reduces the errors of the client to those of clickhouse_http.h. A response that should have no
 * rows and is too large is not a result that is too large.
 */
static int exchange_failed(int r, bool has_rows)
{
	switch (r) {
	case -ETIMEDOUT:
	case -ECONNREFUSED:
	case -ECANCELED:
	case -ENOMEM:
		return r;
	case -EFBIG:
		return has_rows ? r : -EIO;
	default:
		return -EIO;
	}
}

/* A tenant's query is charged for the memory that it allocates, and nothing else is. */
static size_t max_response(const struct store_select *end, bool has_rows)
{
	if (!has_rows)
		return MAX_WITHOUT_ROWS;
	return end && end->tenant ? CLICKHOUSE_MAX_RESPONSE : MAX_METADATA;
}

/* Sends one POST request and appends the response body to @out, or translates the error. */
static int exchange(struct clickhouse_http *h, const char *url, const struct buf *body,
		    const struct store_select *end, struct buf *out, struct err *err)
{
	_cleanup_(http_client_response_fini) struct http_client_response a = { 0 };
	const char *headers[] = { h->user, h->key };
	struct http_client_request rq = { .method = "POST",
					  .url = url,
					  .headers = headers,
					  .n_headers = h->key[0] ? 2 : h->user[0] != 0,
					  .body = body->data,
					  .body_len = body->len,
					  .timeout_ms = timeout_of(end),
					  .max_response = max_response(end, out),
					  .cancelled = end ? end->cancelled : NULL };
	struct http_client *c = NULL;
	int r = acquire_client(h, &c, err);

	if (r < 0)
		return r;
	r = http_client_do(c, &rq, &a, err);
	release_client(h, c);
	if (r < 0)
		return exchange_failed(r, out && a.body.len);
	buf_put_byte(&a.body, 0); /* terminates the text of an error */
	if (buf_error(&a.body))
		return -ENOMEM;
	a.body.len--;
	r = check_response(h, &a, out, err);
	if (r < 0 || !out)
		return r;
	buf_put(out, a.body.data, a.body.len);
	return buf_error(out);
}

int clickhouse_http_run(struct clickhouse_http *h, const struct buf *sql,
			const struct store_select *end, struct buf *out, struct err *err)
{
	char url[MAX_URL], limit[64] = "";
	int r = end ? store_select_check(end, err) : 0;

	if (buf_error(sql))
		return -ENOMEM;
	if (r < 0)
		return r;
	if (end && end->deadline_ns)
		snprintf(limit, sizeof(limit), "&max_execution_time=%lld",
			 (long long)((end->deadline_ns - (int64_t)clock_monotonic_ns()) /
				     (int64_t)CLOCK_SECOND_NS) +
				 1);
	/*
	 * wait_end_of_query makes an error visible as the status: a truncated result must not pass
	 * as complete
	 */
	snprintf(url, sizeof(url), "%s?database=%s&wait_end_of_query=1&max_query_size=4194304%s",
		 h->base, h->database, limit);
	return exchange(h, url, sql, end, out, err);
}

int clickhouse_http_run_outside(struct clickhouse_http *h, const struct buf *sql, struct err *err)
{
	return buf_error(sql) ? -ENOMEM : exchange(h, h->base, sql, NULL, NULL, err);
}

int clickhouse_http_insert(struct clickhouse_http *h, const char *table, const struct buf *rows,
			   struct err *err)
{
	char url[MAX_URL];

	if (buf_error(rows))
		return -ENOMEM;
	snprintf(url, sizeof(url),
		 "%s?database=%s&query=INSERT%%20INTO%%20%s%%20FORMAT%%20RowBinary", h->base,
		 h->database, table);
	return exchange(h, url, rows, NULL, NULL, err);
}
