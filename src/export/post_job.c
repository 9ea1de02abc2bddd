/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients are kept between requests, because they keep connections. A client belongs to a set of
 * options; a renewed certificate arrives as another memory file, so it gets another client.
 *
 * libcurl with GnuTLS reads certificates from paths only, which is why they are memory files: any
 * process may open one through its own /proc/self/fd.
 */
#include "export/post_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "export/export.h"
#include "export/otlp_judge.h"
#include "export/post_message.h"
#include "export/pyroscope_judge.h"
#include "export/sink.h"
#include "export/spool_item.h"
#include "net/http_client.h"
#include "roles/memfd.h"
#include "roles/role.h"

enum { RESPONSE_BYTES = 64 << 10, HEADERS_MAX = 256, CLIENTS_MAX = EXPORT_MAX_SINKS };

/* The options by which clients differ. */
struct client_key {
	uint32_t timeout_ms;
	uint8_t insecure, http2_only, files;
	uint64_t inodes[POST_FILES];
};

struct client {
	struct http_client *http;
	struct client_key key;
	int files[POST_FILES]; /* as many as key.files has; they stay open, so inodes are unique */
};

/* Needs no lock, because the process has one thread. */
static struct client clients[CLIENTS_MAX];
static size_t next_replaced;

static void client_close(struct client *c)
{
	http_client_free(c->http);
	for (int i = 0; i < POST_FILES; i++)
		if (c->key.files >> i & 1)
			close(c->files[i]);
	*c = (struct client){ 0 };
}

/* Reads the key of the request's options. Returns 0 or -EINVAL. */
static int read_key(const struct role_call *call, struct client_key *out)
{
	const struct post_request *q = call->request;
	size_t n_fds = 1;

	*out = (struct client_key){ .timeout_ms = q->timeout_ms,
				    .insecure = q->insecure,
				    .http2_only = q->http2_only,
				    .files = q->files };
	if (q->files >> POST_FILES)
		return -EINVAL;
	for (int i = 0; i < POST_FILES; i++) {
		struct stat st;

		if (!(q->files >> i & 1))
			continue;
		if (n_fds >= call->n_fds || fstat(call->fds[n_fds++], &st) < 0)
			return -EINVAL;
		out->inodes[i] = st.st_ino;
	}
	return n_fds == call->n_fds ? 0 : -EINVAL;
}

static bool same_key(const struct client_key *a, const struct client_key *b)
{
	return a->timeout_ms == b->timeout_ms && a->insecure == b->insecure &&
	       a->http2_only == b->http2_only && a->files == b->files &&
	       !memcmp(a->inodes, b->inodes, sizeof(a->inodes));
}

/* Fills in an unused client. Its members are freed by client_close(), also after a failure. */
static int client_open(struct client *c, const struct client_key *key, const struct role_call *call,
		       struct err *err)
{
	char paths[POST_FILES][32];
	const char *path[POST_FILES] = { NULL };
	struct http_client_options opt = {
		.insecure = key->insecure,
		.http2_only = key->http2_only,
		.timeout_ms = key->timeout_ms,
		.max_response = RESPONSE_BYTES,
	};
	size_t n_fds = 1;

	c->key = *key;
	c->key.files = 0;
	for (int i = 0; i < POST_FILES; i++) {
		if (!(key->files >> i & 1))
			continue;
		c->files[i] = dup(call->fds[n_fds++]);
		if (c->files[i] < 0)
			return -errno;
		c->key.files |= (uint8_t)(1u << i);
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", c->files[i]);
		path[i] = paths[i];
	}
	opt.ca_file = path[POST_CA];
	opt.cert_file = path[POST_CERT];
	opt.key_file = path[POST_KEY];
	return http_client_new(&c->http, &opt, err);
}

static int find_client(const struct role_call *call, struct http_client **out, struct err *err)
{
	struct client_key key;
	struct client *c;
	int r = read_key(call, &key);

	if (r < 0)
		return r;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (clients[i].http && same_key(&clients[i].key, &key)) {
			*out = clients[i].http;
			return 0;
		}
	}
	c = &clients[next_replaced];
	next_replaced = (next_replaced + 1) % CLIENTS_MAX;
	client_close(c);
	r = client_open(c, &key, call, err);
	if (r < 0)
		client_close(c);
	*out = c->http;
	return r;
}

static void judge(const struct post_request *q, const struct http_client_response *a,
		  struct sink_outcome *out)
{
	switch (q->judge) {
	case POST_PYROSCOPE:
		pyroscope_judge(a, out);
		break;
	case POST_OTLP_GRPC:
		otlp_judge_grpc(a, q->n_profiles, out);
		break;
	case POST_OTLP_HTTP:
		otlp_judge_http(a, q->n_profiles, out);
		break;
	default:
		out->verdict = SINK_DONE;
	}
}

/* Sets the URL and the headers of the request. Returns 0 or -EINVAL. */
static int read_texts(const struct role_call *call, struct http_client_request *rq,
		      const char *headers[HEADERS_MAX])
{
	const struct post_request *q = call->request;

	return http_client_request_texts(rq, q->texts,
					 (const char *)call->request + call->request_len, headers,
					 HEADERS_MAX);
}

static int send_body(struct role_call *call, const struct role_memfd *body,
		     struct sink_outcome *out, struct err *err)
{
	const char *headers[HEADERS_MAX];
	struct http_client_request rq = { .method = "POST",
					  .body = body->data,
					  .body_len = body->len };
	_cleanup_(http_client_response_fini) struct http_client_response a = { 0 };
	struct http_client *http = NULL;
	int r = read_texts(call, &rq, headers);

	if (r == 0)
		r = find_client(call, &http, err);
	if (r == 0)
		r = http_client_do(http, &rq, &a, err);
	if (r == 0)
		judge(call->request, &a, out);
	return r;
}

/* An error of the job is the same as no response: its reason is in the reply. */
int post_job(struct role_call *call)
{
	struct sink_outcome out = { .verdict = SINK_LATER };
	struct post_reply *reply = call->reply;
	struct role_memfd body;
	struct err err = { 0 };
	int r = call->n_fds ? role_memfd_map(&body, call->fds[0], SPOOL_ITEM_MAX) : -EINVAL;

	if (r == 0) {
		r = send_body(call, &body, &out, &err);
		role_memfd_unmap(&body);
	}
	if (r < 0)
		sink_end(&out, SINK_LATER, "%s", err.msg[0] ? err.msg : strerror(-r));
	*reply = (struct post_reply){
		.verdict = out.verdict,
		.is_cameo = out.is_cameo,
		.retry_ms = out.retry_ms,
		.rejected_profiles = out.rejected_profiles,
	};
	memcpy(reply->why, out.why, sizeof(reply->why));
	call->reply_len = sizeof(*reply);
	return r < 0 ? r : 0;
}
