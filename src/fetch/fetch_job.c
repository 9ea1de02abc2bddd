/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request has a client of its own: requests are rare, and the certificates that one accepts
 * may not be those of the next.
 */
#include "fetch/fetch_job.h"

#include <errno.h>

#include "base/err.h"
#include "fetch/fetch_files.h"
#include "fetch/fetch_message.h"
#include "net/http_client.h"
#include "roles/role.h"

enum { REJECTED_BYTES = 64 << 10 };

struct body {
	struct role_call *call;
	uint64_t left; /* bytes that may still come */
};

/* Sets the URL and the headers of the request. Returns 0 or -EINVAL. */
static int read_texts(const struct role_call *call, struct http_client_request *rq,
		      const char *headers[FETCH_HEADERS_MAX])
{
	const struct fetch_request *q = call->request;

	return http_client_request_texts(rq, q->texts,
					 (const char *)call->request + call->request_len, headers,
					 FETCH_HEADERS_MAX);
}

static int send_body(void *ctx, const void *data, size_t len)
{
	struct body *b = ctx;
	int r = len > b->left ? -EFBIG : 0;

	b->left -= r < 0 ? 0 : len;
	return r < 0 ? r : role_call_stream(b->call, FETCH_BODY, data, len);
}

static int open_client(const struct role_call *call, struct http_client **out, struct err *err)
{
	const struct fetch_request *q = call->request;
	struct http_client_options opt = {
		.insecure = q->flags & FETCH_INSECURE,
		.connect_ms = q->timeout_ms,
		.timeout_ms = q->timeout_ms,
		.max_response = REJECTED_BYTES, /* of bodies that are not passed on */
	};
	struct fetch_file_paths paths;
	int r = fetch_files_use(q->files, call->fds, call->n_fds, &paths, &opt);

	return r < 0 ? r : http_client_new(out, &opt, err);
}

/* Returns the status of the response or -errno. */
static int get(struct role_call *call, struct err *err)
{
	const struct fetch_request *q = call->request;
	struct body body = { .call = call, .left = q->max_bytes };
	const char *headers[FETCH_HEADERS_MAX];
	struct http_client_request rq = {
		.any_redirect = q->flags & FETCH_ANY_REDIRECT,
		.on_body = send_body,
		.ctx = &body,
	};
	_cleanup_(http_client_freep) struct http_client *http = NULL;
	_cleanup_(http_client_response_fini) struct http_client_response a = { 0 };
	int r = read_texts(call, &rq, headers);

	if (r == 0)
		r = open_client(call, &http, err);
	if (r == 0)
		r = http_client_do(http, &rq, &a, err);
	return r < 0 ? r : a.status;
}

int fetch_job(struct role_call *call)
{
	struct err err = { 0 };

	call->reply_len = sizeof(struct fetch_reply);
	return fetch_set_reply(call->reply, get(call, &err), &err);
}
