/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The responses that clients have not received yet, by connection, and a limit of their memory
 * together. A client that does not read harms only itself: when the limit is exceeded, the
 * connection that has made no progress for the longest time is closed, and so is one that makes
 * none for too long. Internal to net. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct http_outboxes;

/* The unsent responses of one connection. Its fields belong to http_outbox.c. */
struct http_outbox {
	struct http_outboxes *all;
	/*
	 * Shuts down the connection, which other threads then notice. It may run in any thread
	 * until http_outbox_leave() returns.
	 */
	void (*shut_down)(void *connection);
	void *connection;
	size_t bytes, progress; /* progress: bytes sent since marked_ms */
	int64_t marked_ms;
	bool is_listed, is_shut;
	struct http_outbox *prev, *next;
};

struct http_outboxes_options {
	size_t max_bytes;          /* of all responses together; 0: no limit */
	unsigned int idle_seconds; /* without progress, as for a slow client (deadline.h) */
	void (*unread)(void *ctx); /* called for each connection that is shut down; or NULL */
	void *ctx;
};

/* Returns NULL if memory ran out. */
struct http_outboxes *http_outboxes_new(const struct http_outboxes_options *opt);
/* Call when all outboxes have left. */
void http_outboxes_free(struct http_outboxes *all);

DEFINE_FREEP(struct http_outboxes, http_outboxes_free)

/* Shuts down the connections that are late. Call about once a second. */
void http_outboxes_sweep(struct http_outboxes *all, int64_t now_ms);

/*
 * Charges a response of @bytes, which stays in memory as a whole until it is removed. The only
 * response of a connection may exceed the limit: its query is limited elsewhere.
 */
void http_outbox_add(struct http_outbox *o, size_t bytes);
/* The client's connection has accepted @bytes. */
void http_outbox_sent(struct http_outbox *o, size_t bytes);
/* The memory of a response of @bytes is free. */
void http_outbox_remove(struct http_outbox *o, size_t bytes);
/* Removes everything. Call before the socket is closed. It may be called again. */
void http_outbox_leave(struct http_outbox *o);
