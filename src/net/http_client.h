/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An HTTP client for one request at a time: HTTP/1.1, or HTTP/2 where TLS negotiates it or the
 * caller demands it (gRPC). Responses are limited in size; nothing is retried. A client is used
 * by one thread and reuses its connections.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct err;
struct http_client;

struct http_client_options {
	const char *ca_file;              /* PEM; NULL: the system's CAs */
	const char *cert_file, *key_file; /* client certificate; NULL: none */
	bool insecure;                    /* do not verify the certificate */
	bool http2_only;                  /* HTTP/2 with prior knowledge, with or without TLS */
	unsigned int connect_ms;          /* 0: 10 s */
	unsigned int timeout_ms;          /* of a request and its redirects; 0: 30 s */
	size_t max_response;              /* bytes of body after decompression; 0: 1 MiB */
};

struct http_client_request {
	const char *method; /* NULL: POST if there is a body, else GET */
	const char *url;
	const char *const *headers; /* "Name: value"; none contains a line break */
	size_t n_headers;
	const void *body; /* borrowed for the call */
	size_t body_len;
	unsigned int timeout_ms; /* of this request and its redirects; 0: that of the client */
	size_t max_response;     /* of this request; 0: that of the client */
	/* Cancels this request when another thread sets it, within about a second; or NULL. */
	const atomic_bool *cancelled;
	/* Follow redirects to other servers too. Requests with credentials must not set it. */
	bool any_redirect;
	/*
	 * Receives the body of a response with status 200, in pieces and without a limit, instead
	 * of http_client_response.body; or NULL. A negative result ends the request, which returns
	 * it.
	 */
	int (*on_body)(void *ctx, const void *data, size_t len);
	void *ctx;
};

/*
 * Sets the URL and the headers of @rq from the texts in [@texts, @end): the URL first, each ended
 * by a NUL. @headers has room for @max, and both it and the texts are borrowed by @rq. Returns 0,
 * or -EINVAL if there is no URL, the last text has no end, or there are more headers.
 */
int http_client_request_texts(struct http_client_request *rq, const char *texts, const char *end,
			      const char **headers, size_t max);

struct http_client_response {
	int status;
	struct buf headers; /* "name: value" and NUL, one after the other; trailers too */
	struct buf body;
	/* The response specifies where its body ends, so a body that was cut off is an error. */
	bool is_delimited;
};

/*
 * Strings are copied. Returns 0, -EINVAL for an unusable file, -ENOMEM. Files are checked for
 * readability now; whether they are valid shows with the first request.
 */
int http_client_new(struct http_client **out, const struct http_client_options *opt,
		    struct err *err);
void http_client_free(struct http_client *c);

DEFINE_FREEP(struct http_client, http_client_free)

/**
 * http_client_do() - send a request and wait for the whole response
 *
 * A redirect is followed only to the same scheme, host and port (or, with any_redirect, to any
 * http or https URL), and only if the request may be repeated unmodified; otherwise the response is
 * the redirect. @out is emptied first; the caller
 * frees it with http_client_response_fini(), also after a failure.
 *
 * Return: 0 whatever the status; -ETIMEDOUT; -ECONNREFUSED if no connection can be made;
 * -EBADMSG if the peer does not speak HTTP or the response is truncated; -EFBIG; -EACCES if TLS
 * fails; -ECANCELED; -EINVAL if the URL is not an http or https URL; -ENOMEM.
 */
int http_client_do(struct http_client *c, const struct http_client_request *rq,
		   struct http_client_response *out, struct err *err);

void http_client_response_fini(struct http_client_response *a);

/* The value of the last header or trailer of this name, in any case; NULL: there is none. */
const char *http_client_response_header(const struct http_client_response *a, const char *name);

/*
 * The delay in Retry-After in milliseconds, at most a day; 0: no such header. A date is compared
 * with the response's Date header, so that this machine's clock does not matter.
 */
int64_t http_client_response_retry_ms(const struct http_client_response *a);
