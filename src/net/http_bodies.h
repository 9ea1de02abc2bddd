/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of all request bodies together. When it is used up, bodies that hardly arrive are
 * dropped in favour of those that do, so clients that vanish in the middle of a body, or send it a
 * byte at a time, do not keep others out. One flow (tenant) cannot use all of it. Internal to net.
 * Any thread; a request is received by one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct http_bodies;
struct http_request;

/* @max_memory is for all bodies, @max_body for one. Returns NULL if memory ran out. */
struct http_bodies *http_bodies_new(size_t max_memory, size_t max_body);
void http_bodies_free(struct http_bodies *b);

DEFINE_FREEP(struct http_bodies, http_bodies_free)

/* The limit of the body of @rq in bytes. */
size_t http_bodies_max(const struct http_bodies *b, const struct http_request *rq);

/*
 * Appends to rq->body, or counts only. Returns 0; -EMSGSIZE beyond http_bodies_max(); -ENOMEM. If
 * there is no memory for it, it drops the body and sets rq->over_memory; it may do so to other
 * requests whose body has made no progress for two seconds.
 */
int http_bodies_receive(struct http_bodies *b, struct http_request *rq, const void *data,
			size_t len);

/*
 * Call it when the body is complete. From then on it cannot be dropped; rq->over_memory is set if
 * it was before.
 */
void http_bodies_complete(struct http_bodies *b, struct http_request *rq);

/* Frees the body of a request. */
void http_bodies_release(struct http_bodies *b, struct http_request *rq);
