/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query becomes a call of SelectMergeProfile, which responds with the merged profile as pprof. It
 * has no field for spans, so with one it becomes a call of SelectMergeStacktraces, whose response
 * contains the pprof. A server that supports neither spans nor pprof in that method responds with a
 * flame graph, which is refused, so samples of other spans are never accepted. The requests are
 * encoded by hand, since they have few fields. All other URLs are plain GET requests.
 */
#include "cli/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/utf8.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "net/http_client.h"

enum { TIMEOUT_MS = 5 * 60 * 1000, PART_MAX = 1024, HOUR_MS = 3600 * 1000 };

/* Fields of querier.v1's SelectMergeProfileRequest and SelectMergeStacktracesRequest. */
enum {
	MERGE_TYPE = 1,
	MERGE_SELECTOR = 2,
	MERGE_START = 3,
	MERGE_END = 4,
	MERGE_FORMAT = 6, /* this and the next two exist only in SelectMergeStacktracesRequest */
	MERGE_TRACE = 10,
	MERGE_SPAN = 11,
	MERGE_GROUP_BY = 100 /* an extension of Cameo, which Pyroscope ignores */
};

enum { FORMAT_PPROF = 4, ANSWER_PPROF = 5, PPROF_PROFILE = 1, SPAN_DIGITS = 16 };

static const char stacks_path[] = "/querier.v1.QuerierService/SelectMergeStacktraces";
static const char merge_path[] = "/querier.v1.QuerierService/SelectMergeProfile";
static const char default_type[] = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

bool url_is(const char *text)
{
	return !strncmp(text, "http://", 7) || !strncmp(text, "https://", 8);
}

static int64_t unit_ms(char unit)
{
	switch (unit) {
	case 's':
		return 1000;
	case 'm':
		return 60 * 1000;
	case 'h':
		return HOUR_MS;
	case 'd':
		return 24 * HOUR_MS;
	case 'w':
		return 7 * 24 * (int64_t)HOUR_MS;
	default:
		return 0;
	}
}

/* Reads what follows "now": nothing, or "-90m". */
static int parse_before_now(const char *text, int64_t now_ms, int64_t *out_ms)
{
	char *end;
	long n;

	*out_ms = now_ms;
	if (!*text)
		return 0;
	if (*text != '-' || !isdigit((unsigned char)text[1]))
		return -EINVAL;
	errno = 0;
	n = strtol(text + 1, &end, 10);
	if (errno || n > 1000000 || !unit_ms(*end) || end[1])
		return -EINVAL;
	*out_ms = now_ms - n * unit_ms(*end);
	return 0;
}

/* Seconds and milliseconds are distinguished by their magnitude, as in Pyroscope's own API. */
static int parse_since_1970(const char *text, int64_t *out_ms)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || *end)
		return -EINVAL;
	/* Smaller numbers are seconds, up to the year 5138; larger ones ms, from 1973 on. */
	*out_ms = n < 100000000000LL ? n * 1000 : n;
	return 0;
}

/* The formats are tried in this order: now[-N UNIT], UTC, seconds or milliseconds. */
int url_parse_time(const char *text, int64_t now_ms, int64_t *out_ms)
{
	struct tm tm = { 0 };
	const char *rest;

	if (!strncmp(text, "now", 3))
		return parse_before_now(text + 3, now_ms, out_ms);
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return parse_since_1970(text, out_ms);
	if (strcmp(rest, "Z") != 0)
		return -EINVAL;
	*out_ms = (int64_t)timegm(&tm) * 1000;
	return 0;
}

/* The value of a hexadecimal digit; -1 if it is not one. */
static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/*
 * Decodes the value of @name in "a=b&c=d". Returns 0, -ENOENT, or -EINVAL if it is too long. %XX
 * and + are decoded. A parameter that occurs twice counts once, the first time.
 */
static int get_parameter(const char *query, const char *name, char out[PART_MAX])
{
	size_t name_len = strlen(name), n = 0;

	while (strncmp(query, name, name_len) != 0 || query[name_len] != '=') {
		query = strchr(query, '&');
		if (!query++)
			return -ENOENT;
	}
	for (query += name_len + 1; *query && *query != '&'; query++) {
		char c = *query;

		if (c == '+')
			c = ' ';
		if (c == '%' && hex(query[1]) >= 0 && hex(query[2]) >= 0) {
			c = (char)(hex(query[1]) << 4 | hex(query[2]));
			query += 2;
		}
		if (n + 1 >= PART_MAX) {
			out[n] = '\0';
			return -EINVAL;
		}
		out[n++] = c;
	}
	out[n] = '\0';
	return 0;
}

/* Leaves *@io_ms, which holds the default, unchanged if the parameter is missing. */
static int get_time_parameter(const char *query, const char *name, int64_t now_ms, int64_t *io_ms,
			      struct err *err)
{
	char text[PART_MAX];
	int r = get_parameter(query, name, text);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = url_parse_time(text, now_ms, io_ms);
	return r < 0 ? err_set(err, r,
			       "%s=%.40s: expected a time such as now-1h, 2026-11-21T08:00:00Z, or "
			       "seconds since 1970",
			       name, text)
		     : 0;
}

/* Splits "TYPE{LABELS}", "TYPE" or "{LABELS}". */
static int split_query(struct url_query *q, const char *text, struct err *err)
{
	const char *brace = strchr(text, '{');
	size_t n = brace ? (size_t)(brace - text) : strlen(text);

	if (n >= sizeof(q->type))
		return err_set(err, -EINVAL, "profile type is too long: \"%.60s...\"", text);
	if (n)
		snprintf(q->type, sizeof(q->type), "%.*s", (int)n, text);
	snprintf(q->selector, sizeof(q->selector), "%s", brace ? brace : "{}");
	return 0;
}

/* True if @path, which begins after the host, is "/" or empty, whatever parameters follow. */
static bool is_root(const char *path)
{
	path += *path == '/';
	return !*path || *path == '?' || *path == '#';
}

/*
 * A path without the parameter "query" is a file; the root, or no path at all, is the server, which
 * stands for its CPU profiles of all services.
 */
int url_parse_query(const char *url, int64_t now_ms, struct url_query *out, struct err *err)
{
	const char *authority = strstr(url, "://") + 3, *query = strchr(url, '?');
	const char *path = authority + strcspn(authority, "/?#");
	size_t base_len = query ? (size_t)(query - url) : strlen(url);
	char text[PART_MAX];
	int r = query ? get_parameter(query + 1, "query", text) : -ENOENT;

	if (r == -ENOENT && !is_root(path))
		return -ENOENT;
	while (base_len && url[base_len - 1] == '/')
		base_len--;
	if (r == -EINVAL || base_len >= sizeof(out->base))
		return err_set(err, -EINVAL, "the URL is too long");
	*out = (struct url_query){ .from_ms = now_ms - HOUR_MS, .until_ms = now_ms };
	snprintf(out->base, sizeof(out->base), "%.*s", (int)base_len, url);
	snprintf(out->type, sizeof(out->type), "%s", default_type);
	r = split_query(out, r == 0 ? text : "", err);
	if (r == 0 && query && get_parameter(query + 1, "groupBy", text) == 0)
		snprintf(out->group_by, sizeof(out->group_by), "%.255s", text);
	if (r == 0 && query)
		r = get_time_parameter(query + 1, "from", now_ms, &out->from_ms, err);
	if (r == 0 && query)
		r = get_time_parameter(query + 1, "until", now_ms, &out->until_ms, err);
	if (r == 0 && out->from_ms >= out->until_ms)
		r = err_set(err, -EINVAL, "the time range is empty: from= must be before until=");
	return r;
}

/*
 * Encodes the request. The values come from the user's own command line and are passed on
 * unchecked: the server reports what is wrong with them.
 */
static void put_query(const struct url_query *q, const char *id, struct buf *out)
{
	wire_put_text(out, MERGE_TYPE, q->type, strlen(q->type));
	wire_put_text(out, MERGE_SELECTOR, q->selector, strlen(q->selector));
	wire_put_int(out, MERGE_START, q->from_ms);
	wire_put_int(out, MERGE_END, q->until_ms);
	if (id) {
		wire_put_int(out, MERGE_FORMAT, FORMAT_PPROF);
		wire_put_text(out, strlen(id) == SPAN_DIGITS ? MERGE_SPAN : MERGE_TRACE, id,
			      strlen(id));
	}
	if (q->group_by[0])
		wire_put_text(out, MERGE_GROUP_BY, q->group_by, strlen(q->group_by));
}

/* Stores the string member "message" in @ctx, without control characters. Skips other members. */
static int read_message(struct json_read *j, void *ctx)
{
	int r;

	if (!json_read_is(j, "message"))
		return json_read_skip(j);
	r = json_read_string(j);
	if (r == 0)
		utf8_put_line(ctx, (const char *)j->text.data, j->text.len);
	return r;
}

/*
 * Reports a failed request with the reason that the server gives: the message of a Connect error,
 * {"code":..., "message":...}, or else the first line of the response. Control characters are
 * removed, because a server is as untrusted as its profiles.
 */
static int report_failure(const struct http_client_response *a, struct err *err)
{
	int code = a->status == 404 ? -ENOENT : -EACCES;
	_cleanup_(buf_fini) struct buf text = { 0 };
	const uint8_t *end;
	struct json_read j;

	if (a->status == 401)
		return err_set(err, code,
			       "the server requires authentication (status 401): set $CAMEO_TOKEN "
			       "to a token that it accepts");
	json_read_init(&j, a->body.data, a->body.len);
	if (json_read_each(&j, '{', read_message, &text) < 0 || !text.len) {
		end = a->body.len ? memchr(a->body.data, '\n', a->body.len) : NULL;
		text.len = 0;
		utf8_put_line(&text, (const char *)a->body.data,
			      end ? (size_t)(end - a->body.data) : a->body.len);
	}
	json_read_fini(&j);
	return err_set(err, code, "the server responded with status %d%s%.*s", a->status,
		       text.len ? ": " : "", text.len < 120 ? (int)text.len : 120,
		       (const char *)text.data);
}

/* Each request gets its own client, because a command makes one or two requests. */
static int exchange(const struct http_client_request *rq, struct buf *out, struct err *err)
{
	const struct http_client_options opt = {
		.timeout_ms = TIMEOUT_MS,
		.max_response = codec_limits_default().bytes,
	};
	_cleanup_(http_client_freep) struct http_client *c = NULL;
	struct http_client_response a = { 0 };
	int r = http_client_new(&c, &opt, err);

	if (r == 0)
		r = http_client_do(c, rq, &a, err);
	if (r == 0 && a.status != 200)
		r = report_failure(&a, err);
	if (r == 0) {
		buf_put(out, a.body.data, a.body.len);
		r = buf_error(out);
	}
	http_client_response_fini(&a);
	return r;
}

/* Finds the bytes of a field. Returns 1, 0 if it is absent, -EBADMSG. */
static int find_field(struct wire w, uint32_t number, struct wire *out)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number != number || f.type != WIRE_LEN)
			continue;
		*out = f.bytes;
		return 1;
	}
	return r;
}

/* Takes the profile out of the response of SelectMergeStacktraces. */
static int unwrap_profile(const struct buf *answer, struct buf *out, struct err *err)
{
	struct wire w = wire_of(answer->data, answer->len);
	int r = answer->len ? find_field(w, ANSWER_PPROF, &w) : 1;

	if (r > 0 && answer->len)
		r = find_field(w, PPROF_PROFILE, &w);
	if (r <= 0)
		return err_set(err, -EBADMSG,
			       "the response of the server has no profile of a span");
	buf_put(out, w.p, wire_len(w));
	return buf_error(out);
}

bool url_is_query(const char *text)
{
	struct url_query q;

	return url_is(text) && url_parse_query(text, INT64_MAX / CLOCK_MS_NS, &q, NULL) != -ENOENT;
}

/*
 * A token with a line break is not sent, because it could add headers to the request. @headers has
 * room for one more.
 */
static int authorize(struct http_client_request *rq, const char **headers, struct buf *bearer)
{
	const char *token = getenv("CAMEO_TOKEN");

	if (!token || strpbrk(token, "\r\n"))
		return 0;
	buf_printf(bearer, "Authorization: Bearer %s", token);
	buf_put_byte(bearer, '\0');
	headers[rq->n_headers++] = (const char *)bearer->data;
	return buf_error(bearer);
}

int url_post(const char *base, const char *path, const char *type, const struct buf *body,
	     struct buf *out, struct err *err)
{
	_cleanup_(buf_fini) struct buf url = { 0 }, bearer = { 0 }, content = { 0 };
	const char *headers[2];
	struct http_client_request rq = { .headers = headers,
					  .body = body->data,
					  .body_len = body->len };
	int r = authorize(&rq, headers, &bearer);

	buf_printf(&url, "%s%s", base, path);
	buf_put_byte(&url, '\0');
	buf_printf(&content, "Content-Type: %s", type);
	buf_put_byte(&content, '\0');
	if (r < 0 || buf_error(&url) || buf_error(&content) || buf_error(body))
		return -ENOMEM;
	headers[rq.n_headers++] = (const char *)content.data;
	rq.url = (const char *)url.data;
	return exchange(&rq, out, err);
}

static int get(const char *url, struct buf *out, struct err *err)
{
	_cleanup_(buf_fini) struct buf bearer = { 0 };
	const char *headers[1];
	struct http_client_request rq = { .url = url, .headers = headers };
	int r = authorize(&rq, headers, &bearer);

	return r < 0 ? r : exchange(&rq, out, err);
}

int url_fetch(const char *url, const char *label, const char *id, struct buf *out, struct err *err)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, answer = { 0 };
	struct url_query q;
	int r = url_parse_query(url, (int64_t)(clock_unix_ns() / CLOCK_MS_NS), &q, err);

	if (r == -ENOENT)
		return get(url, out, err);
	if (r < 0)
		return r;
	if (label && !q.group_by[0])
		snprintf(q.group_by, sizeof(q.group_by), "%s", label);
	put_query(&q, id, &body);
	r = url_post(q.base, id ? stacks_path : merge_path, "application/proto", &body,
		     id ? &answer : out, err);
	return r < 0 || !id ? r : unwrap_profile(&answer, out, err);
}
