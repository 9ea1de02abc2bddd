/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One HTTP exchange after the other with whoever answers: HTTP/1.1, HTTP/2 where
 * TLS agrees on it or the caller knows it (gRPC). Whatever comes back is bounded
 * and reported; nothing is retried here. A client is used by one thread and keeps
 * its connections; only http_client_cancel() may be called from others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct err;
struct http_client;

struct http_client_options {
	const char *ca_file;              /* PEM, instead of the system's; or NULL */
	const char *cert_file, *key_file; /* the client's own; or NULL */
	bool insecure;                    /* any certificate will do */
	bool http2_only;                  /* without asking: h2c, or h2 over TLS */
	unsigned int connect_ms;          /* 0: 10 s */
	unsigned int timeout_ms;          /* of a whole exchange; 0: 30 s */
	size_t max_answer;                /* bytes of body after decompression; 0: 1 MiB */
};

struct http_client_request {
	const char *method; /* NULL: POST if there is a body, else GET */
	const char *url;
	const char *const *headers; /* "Name: value"; none contains a line break */
	size_t n_headers;
	const void *body; /* borrowed for the call */
	size_t body_len;
};

struct http_answer {
	int status;
	struct buf headers; /* "name: value" and NUL, one after the other; trailers too */
	struct buf body;
};

/* 0; -EINVAL for a file that can't be used, -ENOMEM. The options' texts are copied. */
int http_client_new(struct http_client **out, const struct http_client_options *opt,
		    struct err *err);
void http_client_free(struct http_client *c);

DEFINE_FREEP(struct http_client, http_client_free)

/**
 * http_client_do() - send a request and wait for the whole answer
 *
 * Redirects are followed only to the same scheme, host and port, and when what
 * was sent may be sent there as it is; others are answers like any (30x). @out is emptied
 * first and the caller's to free with http_answer_fini(), also after a failure.
 *
 * Return: 0 whatever the status; -ETIMEDOUT; -ECONNREFUSED when there is no
 * connection to be had; -EBADMSG when what answers does not speak HTTP, or
 * breaks off; -EFBIG; -EACCES when TLS fails; -ECANCELED; -EINVAL for a URL that
 * is none (of http or https); -ENOMEM.
 */
int http_client_do(struct http_client *c, const struct http_client_request *rq,
		   struct http_answer *out, struct err *err);

/* From any thread: what is under way ends with -ECANCELED, and so does everything after it. */
void http_client_cancel(struct http_client *c);

void http_answer_fini(struct http_answer *a);

/* The value of a header or trailer, whatever its case; the last if there are several; NULL. */
const char *http_answer_header(const struct http_answer *a, const char *name);

/*
 * For how long the server asks to be left alone, of Retry-After (seconds or a
 * date, which is compared with the answer's own Date, so our clock does not
 * matter): milliseconds, at most a day; 0 when it does not say.
 */
int64_t http_answer_retry_ms(const struct http_answer *a);
