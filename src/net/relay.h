/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Carries the bytes of one TLS connection to and from a server that speaks plain text on the other
 * end of a socket pair. So libmicrohttpd, which serves HTTP/1, needs no TLS of its own, and both
 * protocols have the same certificates and know the same client. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct relay;
struct tls_session;

enum { RELAY_ROOM_LEN = 16 * 1024 }; /* a record of TLS */

/*
 * @tls is borrowed; its handshake is complete. *@out_fd is the plain end, owned by the caller.
 * Returns 0 or -errno.
 */
int relay_new(struct relay **out, struct tls_session *tls, int *out_fd);
void relay_free(struct relay *r);

DEFINE_FREEP(struct relay, relay_free)

/* This end of the pair: non-blocking, to be polled next to the socket of the session. */
int relay_fd(const struct relay *r);

/*
 * Moves some of what can be moved in both directions, through @room, which has no contents between
 * calls. Returns 0 if either end must become ready first; 1 if more can be moved; -EPIPE when the
 * plain end has closed and everything was sent; -EPROTO or another -errno.
 */
int relay_pump(struct relay *r, uint8_t room[RELAY_ROOM_LEN], int64_t now_ms);

/*
 * Returns true if the plain end closed longer ago than a slow client is allowed (deadline.h) and
 * the client has not received everything. While the plain end is open, the server there limits the
 * time.
 */
bool relay_is_late(const struct relay *r, unsigned int idle_seconds, int64_t now_ms);
