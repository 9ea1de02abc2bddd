/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Downloads files over HTTP and TLS in another process, which has a network but no privileges
 * (roles/sandbox.h, SANDBOX_EXPORTER). This one never connects anywhere. The process is started
 * with the first request, by a launcher where this process has given up its privileges, and again
 * after a crash. Any thread; requests of several threads wait for each other.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "fetch/fetch_files.h"

struct err;
struct fetcher;
struct role;
struct role_launcher;

/*
 * @role has the job FETCH_GET; @launcher starts its processes, or is NULL: this process does. Both
 * are borrowed. Returns 0 or -ENOMEM.
 */
int fetcher_new(struct fetcher **out, const struct role *role, struct role_launcher *launcher);
/*
 * Creates a fetcher with the role and launcher of @other and a process of its own. Returns the same
 * values as fetcher_new().
 */
int fetcher_new_like(struct fetcher **out, const struct fetcher *other);
/* Ends its process. No request may be under way. NULL is fine. */
void fetcher_free(struct fetcher *f);

DEFINE_FREEP(struct fetcher, fetcher_free)

struct fetch {
	const char *url;
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	int ca_fd;         /* a memory file of CAs in PEM (pem.h); -1: the system's */
	bool insecure;     /* do not verify the certificate */
	bool any_redirect; /* redirects may lead to other servers; never with credentials */
	unsigned int timeout_ms;
	uint64_t max_bytes;
	/* Receives the body in pieces if the status is 200. A negative result ends the request. */
	int (*body)(void *ctx, const void *data, size_t len);
	void *ctx;
};

/**
 * fetcher_get() - send a GET request and receive the response
 *
 * Everything that @q points to is borrowed for the call. The caller discards the pieces that body()
 * received before a failure.
 *
 * Return: the status of the response, 100 to 999; -ETIMEDOUT; -EFBIG beyond max_bytes; -EPIPE if
 * the process died; -EAGAIN if none could be started; the negative result of body(); otherwise as
 * http_client_do().
 */
int fetcher_get(struct fetcher *f, const struct fetch *q, struct err *err);

/* Requests that one process sends. All of them carry the headers and use the files. */
struct fetch_all {
	struct fetcher *fetcher;
	const char *const *urls;    /* those with slow responses first */
	size_t n;                   /* 1 to FETCH_ALL_MAX (fetch_message.h) */
	const char *const *headers; /* "Name: value" */
	size_t n_headers;           /* up to FETCH_HEADERS_MAX */
	int files[FETCH_FILES];     /* memory files in PEM (pem.h); -1: none, the system's CAs */
	unsigned int timeout_ms;    /* of each request, including the time to resolve its name */
	uint64_t max_bytes;         /* of each body */
	/* Receives the body of URL @index in pieces if its status is 200. */
	void (*body)(void *ctx, size_t index, const void *data, size_t len);
	/* The request of URL @index has ended: a status, or -errno with the reason in @why. */
	void (*end)(void *ctx, size_t index, int result, const char *why);
	void *ctx;
};

/* Batches of one fetcher_get_all(). */
enum { FETCH_BATCHES_MAX = 8 };

/**
 * fetcher_get_all() - send GET requests to many URLs at the same time
 *
 * Sends the @n batches of @q, up to FETCH_BATCHES_MAX, each through a fetcher that no other one
 * uses, so that no process sees the credentials of a batch that is not its own. Everything that @q
 * points to is borrowed for the call. end() is called exactly once for each URL, even if a whole
 * batch fails, unless the call is cancelled. Callbacks run in the caller's thread. Names are
 * resolved, redirects are followed to the same server only, and certificates are verified. The call
 * ends within half a second once another thread sets @cancelled.
 *
 * Return: 0; -ECANCELED; -EINVAL for a number of batches, URLs or headers beyond its limit.
 */
int fetcher_get_all(const struct fetch_all *q, size_t n, const atomic_bool *cancelled);
