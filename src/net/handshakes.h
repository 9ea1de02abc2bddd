/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread that does handshakes of TLS, which compute for milliseconds, so that the thread of all
 * connections does not. Clients take turns by address. All functions but those of the thread itself
 * are for one other thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "net/turns.h"

struct handshakes;
struct tls_session;

/* One step of a handshake, as a member of a connection. Zeroed: none is requested. */
struct handshake {
	struct turn turn;
	void *owner;             /* of this struct */
	struct tls_session *tls; /* borrowed */
	bool is_requested;       /* and its result has not been taken */
	int result;              /* of tls_handshake() */
	struct handshake *next;
};

/* @done is called by the thread when a result can be taken. Returns 0 or -errno. */
int handshakes_open(struct handshakes **out, void (*done)(void *ctx), void *ctx);

/* Ends the thread. Handshakes that were requested are forgotten. */
void handshakes_close(struct handshakes *h);

DEFINE_FREEP(struct handshakes, handshakes_close)

/* Requests a step, for a client (make_room_client()). @one then belongs to the thread. */
void handshakes_put(struct handshakes *h, struct handshake *one, void *owner, uint32_t client);

/*
 * Withdraws a request. Returns false if the thread has begun with it: its result must be taken
 * first.
 */
bool handshakes_cancel(struct handshakes *h, struct handshake *one);

/* Returns the owner of a step that was done; NULL: none. */
void *handshakes_take(struct handshakes *h);
