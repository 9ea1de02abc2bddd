/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections of the front and what is done with each: it is identified by its first bytes or
 * by a handshake, read and written in turns, passed on or closed. Internal to front.c, whose thread
 * calls all functions except connections_wake(). An int is 0 or more, or -errno if the connection
 * must be closed by connection_drop().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/front_options.h"
#include "net/handshakes.h"
#include "net/http.h"
#include "net/turns.h"

struct connections;
struct err;
struct h2_session;
struct http_request;
struct relay;
struct tls_session;

enum { CONNECTION_READ_LEN = 64 * 1024 };

/* fd is -1 for a connection whose socket is closed while workers still have its requests. */
struct connection {
	struct connections *all;
	int fd;
	bool is_listener;
	struct h2_session *h2;   /* HTTP/2 */
	struct relay *relay;     /* HTTP/1 over TLS; without both the protocol is not known yet */
	struct tls_session *tls; /* NULL: not encrypted */
	struct http_peer peer;
	const uint8_t *out; /* unsent bytes, borrowed from the session */
	size_t out_len;
	int64_t moved_ms; /* time of the last transfer in either direction */
	size_t held;      /* its part of connections.held */
	size_t left;      /* bytes that may be moved in this turn */
	struct turn turn; /* in connections.more */
	struct handshake handshake;
	bool has_input; /* it arrived during a step of the handshake */
	bool is_over;   /* to be closed after that step */
	struct connection *prev, *next;
};

struct connections {
	struct front_options opt;
	int epoll, wake;
	struct connection *first;      /* and listeners */
	struct connection *dead;       /* freed at the end of the turn */
	struct turns more;             /* connections to continue in the next turn */
	struct handshakes *handshakes; /* NULL: no TLS */
	unsigned int n;                /* without listeners */
	size_t held;          /* memory of the requests of all sessions, see h2_session_held() */
	pthread_mutex_t lock; /* guards done */
	struct http_request *done;
	uint8_t buf[CONNECTION_READ_LEN];
};

/* Close them after a failure too. */
int connections_open(struct connections *all, const struct front_options *opt, struct err *err);
void connections_close(struct connections *all);

/* Interrupts the thread's wait for events. Any thread. */
void connections_wake(void *all);

/* @fd becomes the connection's on success only. */
int connections_add(struct connections *all, int fd, bool is_listener, struct connection **out);

/* Continues connections whose handshake has made a step. */
void connections_take_steps(struct connections *all);

/* Returns the requests that workers have finished, a list. */
struct http_request *connections_take_done(struct connections *all);

/* Frees what was dropped: events of a turn may refer to a connection twice. */
void connections_bury(struct connections *all);

/* Finds out what a new connection is, as far as its bytes have arrived. */
void connection_identify(struct connection *c);

/* Moves some bytes of a session, or of a relay, in both directions. */
int connection_pump(struct connection *c);
int connection_pump_relay(struct connection *c);

/* Lets the other connections have their turn first. */
void connection_continue_later(struct connection *c);

/* Sends GOAWAY on a session without requests, as far as the socket accepts it now. */
void connection_end(struct connection *c);

/* Counts the memory of a session's requests after one was answered. */
void connection_count_held(struct connection *c);

/* Frees a connection, or marks it to be freed when its workers have finished. */
void connection_drop(struct connection *c);
