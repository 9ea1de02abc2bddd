/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP/2 connection of one client, without its socket: bytes in, requests out, responses in,
 * bytes out. All functions are called on one thread; only the callbacks of h2_session_new() run on
 * others. The caller moves bytes in both directions and frees the session; it learns from
 * h2_session_ended() when there is nothing more to do.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct h2_session;
struct http_peer;
struct http_request;
struct http_work;

/* Called by a worker: passes @rq to h2_session_respond() on the session's thread. */
typedef void (*h2_done_fn)(void *ctx, struct http_request *rq);

/* Shuts down the socket of a client that does not read. Any thread, until h2_session_abandon(). */
typedef void (*h2_shut_down_fn)(void *ctx);

/* @work must outlive the session; @peer is copied. Returns 0 or -ENOMEM. */
int h2_session_new(struct h2_session **out, struct http_work *work, const struct http_peer *peer,
		   h2_done_fn done, h2_shut_down_fn shut_down, void *ctx);

/* No worker may still process a request. h2_session_working() must be 0. */
void h2_session_free(struct h2_session *s);

DEFINE_FREEP(struct h2_session, h2_session_free)

/*
 * Processes bytes from the client. Returns 0; -EPROTO if the connection must be closed; -ENOMEM.
 * Requests are queued for workers from within this call.
 */
int h2_session_feed(struct h2_session *s, const void *data, size_t len);

/* Bytes for the client, borrowed until the next call. Returns their number, 0 or -EPROTO. */
ssize_t h2_session_take(struct h2_session *s, const uint8_t **out);

/* The client's socket has accepted @len of these bytes. */
void h2_session_sent(struct h2_session *s, size_t len);

/*
 * Sends a response that has been filled in, or continues a request that was admitted; drops it if
 * the client has disconnected.
 */
void h2_session_respond(struct http_request *rq);

void *h2_session_ctx(const struct http_request *rq);

/*
 * The client has disconnected: frees its requests, and marks those that workers process as
 * abandoned. Call before the socket is closed; afterwards, call h2_session_respond() and
 * h2_session_free() only. It may be called again.
 */
void h2_session_abandon(struct h2_session *s);

/* The numbers of requests that workers process and of unanswered requests. */
size_t h2_session_working(const struct h2_session *s);
size_t h2_session_open(const struct h2_session *s);

/*
 * Estimates the memory of its requests, without bodies and responses: headers may expand a thousand
 * times.
 */
size_t h2_session_held(const struct h2_session *s);

/* True between requests: there was one, and there is none. */
bool h2_session_has_asked(const struct h2_session *s);

/*
 * Returns true while a worker decides about the admission of a request. Then pass no more bytes, so
 * that the bodies of a client that is not identified hold at most the bytes of one call of
 * h2_session_feed().
 */
bool h2_session_is_paused(const struct h2_session *s);

/* True if a client takes too long to send a request or to receive its response: see deadline.h. */
bool h2_session_is_late(const struct h2_session *s, unsigned int idle_seconds, int64_t now_ms);

/* Returns true if the connection is finished in both directions. */
bool h2_session_ended(const struct h2_session *s);

/* Sends GOAWAY: open requests are answered, new ones refused. */
void h2_session_end(struct h2_session *s);
