/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP/1.1 and HTTP/2 for requests that fit into memory: a whole request is handed
 * to one of a few worker threads, whose answer is sent. Sockets never wait for work:
 * idle and slow clients cost a connection and nothing else, up to the limits.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct err;
struct http_request;
struct http_server;

enum { HTTP_MAX_HEADERS = 12, HTTP_MAX_TRAILERS = 2 };

struct http_header {
	const char *name, *value; /* borrowed until the answer is sent */
};

struct http_response {
	int status;               /* 200 unless changed */
	const char *content_type; /* NULL: none */
	struct http_header headers[HTTP_MAX_HEADERS];
	size_t n_headers;
	struct http_header trailers[HTTP_MAX_TRAILERS]; /* HTTP/2 only */
	size_t n_trailers;
	char trailer_text[512]; /* for their values */
	struct buf body;
};

/* One more header; beyond HTTP_MAX_HEADERS none is added. */
static inline void http_response_add(struct http_response *rs, const char *name, const char *value)
{
	if (rs->n_headers < HTTP_MAX_HEADERS)
		rs->headers[rs->n_headers++] = (struct http_header){ name, value };
}

static inline void http_response_add_trailer(struct http_response *rs, const char *name,
					     const char *value)
{
	if (rs->n_trailers < HTTP_MAX_TRAILERS)
		rs->trailers[rs->n_trailers++] = (struct http_header){ name, value };
}

/* From several threads at once. */
typedef void (*http_handler_fn)(void *ctx, const struct http_request *rq, struct http_response *rs);

struct http_server_options {
	const char *host;      /* numeric, or "localhost" */
	uint16_t port;         /* 0: any that is free */
	const char *grpc_host; /* another place to listen, where gRPC is looked for; or NULL */
	uint16_t grpc_port;
	unsigned int n_workers;
	unsigned int max_connections;
	unsigned int idle_seconds;
	size_t max_body;                /* beyond it 413 */
	size_t max_memory;              /* of all bodies together; beyond it 429 */
	const char *tls_cert, *tls_key; /* PEM; NULL: no TLS */
	http_handler_fn handler;
	void (*refused)(void *ctx, int status); /* told of what the handler never sees; or NULL */
	void *ctx;
};

/* 0; -errno when it can't listen there, and @err says why. */
int http_server_open(struct http_server **out, const struct http_server_options *opt,
		     struct err *err);
/* What is under way is answered first. */
void http_server_close(struct http_server *s);

DEFINE_FREEP(struct http_server, http_server_close)

uint16_t http_server_port(const struct http_server *s);
uint16_t http_server_grpc_port(const struct http_server *s);

const char *http_request_method(const struct http_request *rq);
const char *http_request_path(const struct http_request *rq);
const char *http_request_header(const struct http_request *rq, const char *name); /* or NULL */
const char *http_request_arg(const struct http_request *rq, const char *name);    /* or NULL */
const void *http_request_body(const struct http_request *rq, size_t *out_len);
