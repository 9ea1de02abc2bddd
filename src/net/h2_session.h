/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One client's HTTP/2: bytes in, requests out, responses in, bytes out. No
 * sockets. One thread; only the callback of h2_session_new() is called by others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct h2_session;
struct http_request;
struct http_work;

/* By a worker: hand @rq to h2_session_respond() in the session's own thread. */
typedef void (*h2_done_fn)(void *ctx, struct http_request *rq);

int h2_session_new(struct h2_session **out, struct http_work *work, h2_done_fn done, void *ctx);

/* No request may be with a worker. */
void h2_session_free(struct h2_session *s);

DEFINE_FREEP(struct h2_session, h2_session_free)

/* Bytes from the client: 0; -EPROTO when the connection is of no more use; -ENOMEM. */
int h2_session_feed(struct h2_session *s, const void *data, size_t len);

/* Bytes for the client: how many, borrowed until the next call; 0: none now; -EPROTO. */
ssize_t h2_session_take(struct h2_session *s, const uint8_t **out);

/* The response is filled in; nothing happens if the client has gone. */
void h2_session_respond(struct http_request *rq);

void *h2_session_ctx(const struct http_request *rq);

/* Requests with workers; requests that are not answered yet. */
size_t h2_session_working(const struct h2_session *s);
size_t h2_session_open(const struct h2_session *s);

/* Neither side will say more. */
bool h2_session_ended(const struct h2_session *s);

/* Say goodbye: what is open is answered, nothing new is taken. */
void h2_session_end(struct h2_session *s);
