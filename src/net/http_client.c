/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transfer in libcurl's multi interface, which another thread can wake, unlike the easy
 * interface: a server that never answers must not delay the end of the process. Redirects are
 * handled here, because curl would send the body and the credentials in headers to any host.
 *
 * Responses are untrusted: headers, body and redirects are limited, and the body's limit applies
 * after decompression, so a small response cannot expand without bound.
 */
#include "net/http_client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/err.h"

enum {
	CONNECT_MS = 10000,
	TIMEOUT_MS = 30000,
	RESPONSE_BYTES = 1 << 20,
	HEADER_BYTES = 64 << 10,
	REDIRECTS_MAX = 3,
	POLL_MS = 1000,
	DAY_MS = 86400 * 1000,
};

/* easy keeps connections alive between requests. */
struct http_client {
	CURL *easy;
	CURLM *multi;
	const struct http_client_request *request; /* the current one */
	unsigned int timeout_ms;
	uint64_t end_ns;                       /* of the current request, by CLOCK_MONOTONIC */
	size_t max_response, max_body;         /* of the client, of the current request */
	struct http_client_response *response; /* of the exchange under way */
	bool has_body, too_big;
	int body_error; /* negative result of the request's on_body() */
	char why[CURL_ERROR_SIZE];
};

void http_client_response_fini(struct http_client_response *a)
{
	buf_fini(&a->headers);
	buf_fini(&a->body);
}

/* Every response, also an intermediate one (100), starts with a status line. */
static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct http_client *c = ctx;
	struct buf *h = &c->response->headers;
	size_t len = size * n, text = len;

	while (text && (data[text - 1] == '\r' || data[text - 1] == '\n'))
		text--;
	if (text > 5 && !strncmp(data, "HTTP/", 5)) {
		h->len = 0;
		return len;
	}
	if (!text || !memchr(data, ':', text))
		return len;
	if (h->len + text + 1 > HEADER_BYTES || memchr(data, 0, text)) {
		c->too_big = true;
		return 0;
	}
	buf_put(h, data, text);
	buf_put_byte(h, 0);
	return buf_error(h) ? 0 : len;
}

static int status_of(const struct http_client *c)
{
	long status = 0;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

/*
 * Called with decompressed data. A short count makes curl fail with CURLE_WRITE_ERROR, which
 * failure() distinguishes by too_big and body_error.
 */
static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct http_client *c = ctx;
	struct buf *b = &c->response->body;
	size_t len = size * n;

	if (c->request->on_body && status_of(c) == 200) {
		c->body_error = c->request->on_body(c->request->ctx, data, len);
		return c->body_error < 0 ? 0 : len;
	}
	if (len > c->max_body - b->len) {
		c->too_big = true;
		return 0;
	}
	buf_put(b, data, len);
	return buf_error(b) ? 0 : len;
}

const char *http_client_response_header(const struct http_client_response *a, const char *name)
{
	const char *p = (const char *)a->headers.data, *end = p + a->headers.len, *found = NULL;
	size_t len = strlen(name);

	for (; p && p < end; p += strlen(p) + 1)
		if (!strncasecmp(p, name, len) && p[len] == ':')
			found = p + len + 1 + strspn(p + len + 1, " \t");
	return found;
}

int64_t http_client_response_retry_ms(const struct http_client_response *a)
{
	const char *after = http_client_response_header(a, "Retry-After");
	const char *date = http_client_response_header(a, "Date");
	char *end;
	long long s;

	if (!after)
		return 0;
	errno = 0;
	s = strtoll(after, &end, 10);
	if (errno || end == after || *end) {
		time_t until = curl_getdate(after, NULL);
		time_t now = date ? curl_getdate(date, NULL) : time(NULL);

		if (until < 0 || now < 0)
			return 0;
		s = until - now;
	}
	if (s <= 0)
		return 0;
	return s > DAY_MS / 1000 ? DAY_MS : s * 1000;
}

/* libcurl before 8.0.0 fails the second request of a connection that was begun as HTTP/2. */
static bool can_reuse_http2(void)
{
	return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080000;
}

static void set_options(struct http_client *c, const struct http_client_options *opt)
{
	CURL *e = c->easy;

	c->max_response = opt->max_response ? opt->max_response : RESPONSE_BYTES;
	c->timeout_ms = opt->timeout_ms ? opt->timeout_ms : TIMEOUT_MS;
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->why);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(opt->connect_ms ? opt->connect_ms : CONNECT_MS));
	curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "gzip");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
			 (long)(opt->http2_only ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
						: CURL_HTTP_VERSION_2TLS));
	if (opt->http2_only && !can_reuse_http2())
		curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	if (opt->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, opt->ca_file);
	if (opt->cert_file)
		curl_easy_setopt(e, CURLOPT_SSLCERT, opt->cert_file);
	if (opt->key_file)
		curl_easy_setopt(e, CURLOPT_SSLKEY, opt->key_file);
	if (opt->insecure) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static int check_file(const char *path, struct err *err)
{
	if (!path || access(path, R_OK) == 0)
		return 0;
	return err_set(err, -EINVAL, "cannot read \"%.150s\": %s", path, strerror(errno));
}

int http_client_new(struct http_client **out, const struct http_client_options *opt,
		    struct err *err)
{
	_cleanup_(http_client_freep) struct http_client *c = NULL;
	int r = check_file(opt->ca_file, err);

	if (r == 0)
		r = check_file(opt->cert_file, err);
	if (r == 0)
		r = check_file(opt->key_file, err);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	c->easy = curl_easy_init();
	c->multi = curl_multi_init();
	if (!c->easy || !c->multi)
		return -ENOMEM;
	set_options(c, opt);
	*out = steal_ptr(&c);
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->easy);
	curl_multi_cleanup(c->multi);
	free(c);
}

/* Translates an error of curl into an errno; see http_client_do() for the values. */
static int failure(const struct http_client *c, CURLcode code, struct err *err)
{
	const char *why = c->why[0] ? c->why : curl_easy_strerror(code);
	int r = -EBADMSG;
	long request_bytes = 0;

	if (c->body_error < 0)
		return err_set(err, c->body_error, "%s", strerror(-c->body_error));
	if (c->too_big)
		return err_set(err, -EFBIG, "response exceeds the limit of %zu bytes", c->max_body);
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
	case CURLE_WRITE_ERROR:
		r = -ENOMEM;
		break;
	case CURLE_URL_MALFORMAT:
		r = -EINVAL;
		break;
	case CURLE_UNSUPPORTED_PROTOCOL: /* the URL's scheme, or the response's protocol */
		curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
		r = request_bytes ? -EBADMSG : -EINVAL;
		break;
	case CURLE_OPERATION_TIMEDOUT:
		r = -ETIMEDOUT;
		break;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		r = -ECONNREFUSED;
		break;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		r = -EACCES;
		break;
	default:
		break;
	}
	return err_set(err, r, "%.200s", why);
}

/*
 * Runs the transfer to its end. Returns its result or -ECANCELED. It polls at most POLL_MS at a
 * time, because nothing wakes it when the request is cancelled.
 */
static int turn(struct http_client *c, CURLcode *out)
{
	CURLMsg *m;
	int running = 1, left;

	*out = CURLE_OK;
	while (running) {
		if (c->request->cancelled && atomic_load(c->request->cancelled))
			return -ECANCELED;
		if (curl_multi_perform(c->multi, &running) != CURLM_OK)
			return -ENOMEM;
		if (running && curl_multi_poll(c->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
			return -ENOMEM;
	}
	while ((m = curl_multi_info_read(c->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			*out = m->data.result;
	return 0;
}

/*
 * In HTTP/1 without a length or chunks, the end of the connection is the end of the body, whatever
 * caused it.
 */
static bool is_delimited(const struct http_client *c)
{
	const struct http_client_response *a = c->response;
	long version = 0;

	curl_easy_getinfo(c->easy, CURLINFO_HTTP_VERSION, &version);
	return version >= CURL_HTTP_VERSION_2_0 ||
	       http_client_response_header(a, "Content-Length") ||
	       http_client_response_header(a, "Transfer-Encoding");
}

/* The time that remains for the current request, which has been redirected; at least 1 ms. */
static long left_ms(const struct http_client *c)
{
	uint64_t now_ns = clock_monotonic_ns();

	return now_ns < c->end_ns ? (long)((c->end_ns - now_ns) / CLOCK_MS_NS) + 1 : 1;
}

/* Sends one request, without following redirects, and receives the response into c->response. */
static int exchange(struct http_client *c, const char *url, struct err *err)
{
	CURLcode code;
	int r;

	c->response->headers.len = 0;
	c->response->body.len = 0;
	c->too_big = false;
	c->body_error = 0;
	c->why[0] = 0;
	curl_easy_setopt(c->easy, CURLOPT_URL, url);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, left_ms(c));
	if (curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
		return -ENOMEM;
	r = turn(c, &code);
	curl_multi_remove_handle(c->multi, c->easy);
	if (r < 0)
		return err_set(err, r, "%s", r == -ECANCELED ? "canceled" : "out of memory");
	if (code != CURLE_OK)
		return failure(c, code, err);
	c->response->status = status_of(c);
	c->response->is_delimited = is_delimited(c);
	return 0;
}

/* Returns true if the part @what of both URLs is equal. */
static bool same_part(CURLU *a, CURLU *b, CURLUPart what)
{
	char *pa = NULL, *pb = NULL;
	bool same = !curl_url_get(a, what, &pa, CURLU_DEFAULT_PORT) &&
		    !curl_url_get(b, what, &pb, CURLU_DEFAULT_PORT) && !strcasecmp(pa, pb);

	curl_free(pa);
	curl_free(pb);
	return same;
}

static void url_freep(CURLU **u)
{
	curl_url_cleanup(*u);
}

static void curl_freep(char **p)
{
	curl_free(*p);
}

/* Returns true if the request may be repeated unmodified after this status. */
static bool is_redirect(const struct http_client *c)
{
	int s = c->response->status;

	return s == 307 || s == 308 || (!c->has_body && (s == 301 || s == 302 || s == 303));
}

static bool is_same_server(CURLU *a, CURLU *b)
{
	return same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
	       same_part(a, b, CURLUPART_PORT);
}

/* The target of a redirect that may be followed, else NULL; to be freed with curl_free(). */
static char *redirect_of(const struct http_client *c, const char *url)
{
	const char *location = http_client_response_header(c->response, "Location");
	_cleanup_(url_freep) CURLU *from = curl_url(), *to = curl_url();
	char *out = NULL;

	if (!is_redirect(c) || !location || !from || !to ||
	    curl_url_set(from, CURLUPART_URL, url, 0) || curl_url_set(to, CURLUPART_URL, url, 0) ||
	    curl_url_set(to, CURLUPART_URL, location, 0) ||
	    (!c->request->any_redirect && !is_same_server(from, to)))
		return NULL;
	curl_url_get(to, CURLUPART_URL, &out, 0);
	return out;
}

/* A fourth redirect is returned as the response. */
static int exchange_redirected(struct http_client *c, const char *url, struct err *err)
{
	_cleanup_(curl_freep) char *to = NULL;
	int r = exchange(c, url, err);

	for (int n = 0; r == 0 && n < REDIRECTS_MAX; n++) {
		char *next = redirect_of(c, to ? to : url);

		if (!next)
			break;
		curl_free(to);
		to = next;
		r = exchange(c, to, err);
	}
	return r;
}

static void set_limits(struct http_client *c, const struct http_client_request *rq)
{
	uint64_t timeout_ms = rq->timeout_ms ? rq->timeout_ms : c->timeout_ms;

	c->max_body = rq->max_response ? rq->max_response : c->max_response;
	c->end_ns = clock_monotonic_ns() + timeout_ms * CLOCK_MS_NS;
}

/* CUSTOMREQUEST must be reset for each request, since the handle is reused. */
static void set_body(struct http_client *c, const struct http_client_request *rq)
{
	c->has_body = rq->body || (rq->method && !strcmp(rq->method, "POST"));
	if (c->has_body) {
		curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body_len);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, rq->body ? rq->body : "");
	} else {
		curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
	}
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, rq->method);
}

static void slist_freep(struct curl_slist **l)
{
	curl_slist_free_all(*l);
}

static int add_header(struct curl_slist **list, const char *h)
{
	struct curl_slist *l = strpbrk(h, "\r\n") ? NULL : curl_slist_append(*list, h);

	if (!l)
		return -EINVAL;
	*list = l;
	return 0;
}

int http_client_request_texts(struct http_client_request *rq, const char *texts, const char *end,
			      const char **headers, size_t max)
{
	if (texts >= end || end[-1])
		return -EINVAL;
	rq->url = texts;
	rq->headers = headers;
	for (texts += strlen(texts) + 1; texts < end; texts += strlen(texts) + 1) {
		if (rq->n_headers == max)
			return -EINVAL;
		headers[rq->n_headers++] = texts;
	}
	return 0;
}

int http_client_do(struct http_client *c, const struct http_client_request *rq,
		   struct http_client_response *out, struct err *err)
{
	_cleanup_(slist_freep) struct curl_slist *list = NULL;
	int r = add_header(&list, "Expect:"); /* no waiting for a 100 */

	http_client_response_fini(out);
	*out = (struct http_client_response){ 0 };
	for (size_t i = 0; r == 0 && i < rq->n_headers; i++)
		r = add_header(&list, rq->headers[i]);
	if (r < 0)
		return err_set(err, r, "header contains a line break");
	c->response = out;
	c->request = rq;
	set_limits(c, rq);
	set_body(c, rq);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, list);
	r = exchange_redirected(c, rq->url, err);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, NULL);
	c->response = NULL;
	c->request = NULL;
	return r;
}
