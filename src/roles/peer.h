/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parent's end of a child's socket: one request after the other, the messages that answer it,
 * and its budget. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "roles/budget.h"
#include "roles/message.h"
#include "roles/request.h"

struct role_peer {
	pid_t pid;
	int sock;
	bool has_started;          /* its HELLO came */
	struct role_budget budget; /* of the request; until HELLO, of the child's start */
	uint32_t id;               /* of the request */
	struct role_request request;
	struct role_reply reply;
	struct role_message in; /* the last message */
};

/* Begins the time in which the child @pid, which was just started, has to send its HELLO. */
void role_peer_begin_start(struct role_peer *c);

/* Returns true if the other end of the socket was closed, and nothing is left to read. */
bool role_peer_is_dead(const struct role_peer *c);

/* Returns true if role_peer_step() has something to do at once, apart from timeouts. */
bool role_peer_has_message(const struct role_peer *c);

/* Sends @request, whose number is @c->id. Returns 0 or -errno. */
int role_peer_send(struct role_peer *c, const struct role_request *request);

/* Begins the budget of @c->request, unless the child has yet to start. */
void role_peer_begin(struct role_peer *c);

/*
 * Waits until CLOCK_MONOTONIC time @until_ns for a message, and handles it. Returns -EAGAIN after
 * the HELLO, a part or a question, or without a message; else the same values as
 * role_exchange_poll().
 */
int role_peer_step(struct role_peer *c, uint64_t until_ns);
