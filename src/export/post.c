/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers are assembled for each request, because files of credentials may change (a token that
 * is renewed). Credentials never appear in messages.
 */
#include "export/post.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "export/export.h"
#include "export/sink.h"

enum { TIMEOUT_MS = 10000, SECRET_MAX = 16384, ANSWER_BYTES = 64 << 10 };

struct strings {
	VEC(char *);
};

struct post {
	struct http_client *client;
	char *url;
	struct strings headers;
	char *secret, *secret_file; /* at most one is set */
	bool is_basic;
};

static void strings_fini(struct strings *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->data[i]);
	vec_fini(s);
}

/* Takes ownership of @s; NULL means that memory ran out. */
static int strings_take(struct strings *s, char *text)
{
	int r = text ? vec_push(s, text) : -ENOMEM;

	if (r < 0)
		free(text);
	return r;
}

void post_free(struct post *p)
{
	if (!p)
		return;
	http_client_free(p->client);
	strings_fini(&p->headers);
	free(p->secret);
	free(p->secret_file);
	free(p->url);
	free(p);
}

static bool is_header(const char *h)
{
	size_t name = strcspn(h, ": \t");

	return name && h[name] == ':' && !strpbrk(h, "\r\n");
}

static int add_headers(struct post *p, const struct post_options *opt, struct err *err)
{
	const struct export_sink_options *o = opt->sink;
	char *tenant = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < opt->n_headers; i++)
		r = strings_take(&p->headers, strdup(opt->headers[i]));
	for (size_t i = 0; r == 0 && i < o->n_headers; i++) {
		if (!is_header(o->headers[i]))
			return err_set(err, -EINVAL,
				       "expected a header of the form \"Name: value\"");
		r = strings_take(&p->headers, strdup(o->headers[i]));
	}
	if (r < 0 || !o->tenant)
		return r;
	if (strpbrk(o->tenant, "\r\n"))
		return err_set(err, -EINVAL, "tenant must be one line");
	return strings_take(&p->headers,
			    asprintf(&tenant, "X-Scope-OrgID: %s", o->tenant) < 0 ? NULL : tenant);
}

/* Checks the readability of the file now; its contents are read for each request. */
static int copy_secret(struct post *p, const struct export_sink_options *o, struct err *err)
{
	const char *text = o->bearer ? o->bearer : o->basic;
	const char *file = o->bearer_file ? o->bearer_file : o->basic_file;

	if (!!o->bearer + !!o->basic + !!o->bearer_file + !!o->basic_file > 1)
		return err_set(err, -EINVAL,
			       "bearer, bearer-file, basic and basic-file cannot be used together");
	p->is_basic = o->basic || o->basic_file;
	if (file && access(file, R_OK) < 0)
		return err_set(err, -EINVAL, "cannot read \"%.150s\": %s", file, strerror(errno));
	if (text && strpbrk(text, "\r\n"))
		return err_set(err, -EINVAL, "credentials must be one line");
	p->secret = text ? strdup(text) : NULL;
	p->secret_file = file ? strdup(file) : NULL;
	return (text && !p->secret) || (file && !p->secret_file) ? -ENOMEM : 0;
}

int post_new(struct post **out, const struct post_options *opt, struct err *err)
{
	const struct export_sink_options *o = opt->sink;
	const struct http_client_options http = {
		.ca_file = o->ca_file,
		.cert_file = o->cert_file,
		.key_file = o->key_file,
		.insecure = o->tls_insecure,
		.http2_only = opt->http2_only,
		.timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS,
		.max_answer = ANSWER_BYTES,
	};
	_cleanup_(post_freep) struct post *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->url = strdup(opt->url);
	if (!p->url)
		return -ENOMEM;
	r = add_headers(p, opt, err);
	if (r == 0)
		r = copy_secret(p, o, err);
	if (r == 0)
		r = http_client_new(&p->client, &http, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&p);
	return 0;
}

/*
 * Reads the only line of a file; trailing white space is ignored. O_NONBLOCK: a named pipe in its
 * place must not block the thread.
 */
static int read_secret(const char *path, char out[SECRET_MAX], struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, out, SECRET_MAX);

	if (n < 0)
		return err_set(err, -errno, "cannot read \"%.100s\": %s", path, strerror(errno));
	while (n && strchr(" \t\r\n", out[n - 1]))
		n--;
	if (!n || n == SECRET_MAX || memchr(out, '\n', (size_t)n) || memchr(out, 0, (size_t)n))
		return err_set(err, -EINVAL, "\"%.100s\" must contain exactly one line", path);
	out[n] = 0;
	return 0;
}

/* Formats the Authorization header; *@out is NULL without credentials. */
static int authorization(const struct post *p, char **out, struct err *err)
{
	_cleanup_(buf_fini) struct buf header = { 0 };
	char room[SECRET_MAX];
	const char *secret = p->secret;
	int r;

	*out = NULL;
	if (!p->secret && !p->secret_file)
		return 0;
	if (p->secret_file) {
		r = read_secret(p->secret_file, room, err);
		if (r < 0)
			return r;
		secret = room;
	}
	buf_put_str(&header, p->is_basic ? "Authorization: Basic " : "Authorization: Bearer ");
	if (p->is_basic)
		base64_encode(secret, strlen(secret), &header);
	else
		buf_put_str(&header, secret);
	buf_put_byte(&header, 0);
	if (buf_error(&header))
		return -ENOMEM;
	*out = (char *)steal_ptr(&header.data);
	return 0;
}

/* Headers of the caller follow those of the protocol, and Authorization comes last. */
static int send_with(struct post *p, const char *auth, const struct buf *body,
		     struct http_answer *answer, struct err *err)
{
	struct {
		VEC(const char *);
	} h = { 0 };
	struct http_client_request rq = {
		.method = "POST",
		.url = p->url,
		.body = body->data,
		.body_len = body->len,
	};
	int r = vec_reserve(&h, p->headers.len + 1);

	if (r == 0) {
		for (size_t i = 0; i < p->headers.len; i++)
			h.data[h.len++] = p->headers.data[i];
		if (auth)
			h.data[h.len++] = auth;
		rq.headers = h.data;
		rq.n_headers = h.len;
		r = http_client_do(p->client, &rq, answer, err);
	}
	vec_fini(&h);
	return r;
}

bool post_send(struct post *p, const struct buf *body, struct http_answer *answer,
	       struct sink_outcome *outcome)
{
	_cleanup_(freep) char *auth = NULL;
	struct err err = { 0 };
	int r = authorization(p, &auth, &err);

	if (r == 0)
		r = send_with(p, auth, body, answer, &err);
	if (r < 0)
		sink_end(outcome, SINK_LATER, "%s", err.msg[0] ? err.msg : strerror(-r));
	return r == 0;
}

void post_cancel(struct post *p)
{
	http_client_cancel(p->client);
}

void post_judge(const struct http_answer *a, const char *message, struct sink_outcome *outcome)
{
	enum sink_verdict v = SINK_LATER;

	if (a->status == 401 || a->status == 403 || a->status == 407)
		v = SINK_DENIED;
	else if (a->status >= 400 && a->status < 500 && a->status != 429)
		v = SINK_NEVER;
	else if (a->status == 500 || a->status == 501)
		v = SINK_DOUBTFUL;
	outcome->retry_ms = http_answer_retry_ms(a);
	sink_end(outcome, v, "status %d%s%.120s", a->status, message ? ": " : "",
		 message ? message : "");
}

bool post_has_type(const struct http_answer *a, const char *type)
{
	const char *is = http_answer_header(a, "Content-Type");
	size_t len = strlen(type);

	return is && !strncasecmp(is, type, len) && strchr("; \t", is[len]);
}
